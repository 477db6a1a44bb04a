package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// buildVersion is the module's version and the commit, as the Go tool noted them.
func buildVersion() (version, commit string) {
	version, commit = "devel", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, commit
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		commit += " (modified)"
	}
	return version, commit
}

func versionText() string {
	version, commit := buildVersion()
	return fmt.Sprintf("raisinproxy %s, commit %s, %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
