package testservers

import (
	"errors"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Unprivileged is somebody else if this process is root, as whom PostgreSQL and
// pgbouncer refuse to run; else nil.
func Unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// folder makes a temporary folder that as may write to.
func folder(prefix string, as *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err == nil && as != nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}
