package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

const samples = "../../testdata/config"

func TestCheckConfig(t *testing.T) {
	datadriven.RunTest(t, filepath.Join(samples, "check.txt"), func(t *testing.T, d *datadriven.TestData) string {
		var env, args []string
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "args":
				args = arg.Vals
			case "env":
				env = arg.Vals
			}
		}
		if d.Cmd == "run" {
			return runProgram(t, args, env)
		}
		dir := configDir(t, d.Input)
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "without":
				os.Remove(filepath.Join(dir, arg.Vals[0]))
			case "readable":
				if err := os.Chmod(filepath.Join(dir, arg.Vals[0]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		args = append([]string{"--check-config", "--config", filepath.Join(dir, "raisin.toml")}, args...)
		today := time.Now().UTC()
		return strings.NewReplacer(today.Format(time.DateOnly), "TODAY", today.AddDate(0, 0, -1).Format(time.DateOnly), "TODAY",
			dir+"/", "", dir, ".").Replace(runProgram(t, args, env))
	})
}

// configDir is a folder with a config file and what it may name.
func configDir(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	users, err := os.ReadFile(filepath.Join(samples, "users.txt"))
	if err != nil {
		t.Fatal(err)
	}
	cert, key := makeCertificate(t, time.Hour)
	_, otherKey := makeCertificate(t, time.Hour)
	expired, expiredKey := makeCertificate(t, -time.Hour)
	for name, content := range map[string]string{
		"raisin.toml":     config,
		"users.txt":       string(users),
		"bad-users.txt":   "\"alice\" \"hunter2\n\"bob\" \"hunter2\"\n\"bob\" \"hunter2\"\n",
		"empty-users.txt": "; nobody yet\n",
		"cert.pem":        cert,
		"key.pem":         key,
		"other-key.pem":   otherKey,
		"expired.pem":     expired,
		"expired-key.pem": expiredKey,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runProgram gives what the program prints, standard error marked, and its exit code.
func runProgram(t *testing.T, args, env []string) string {
	t.Helper()
	getenv := func(name string) string {
		for _, e := range env {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
	// A run that would serve is a mistake in the test: it ends at once.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !slices.Contains(args, "--check-config") {
		cancel()
	}
	var out, errs strings.Builder
	code := exitCode(run(ctx, args, getenv, streams{out: &out, err: &errs}), &errs)
	for line := range strings.Lines(errs.String()) {
		out.WriteString("2> " + line)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("a secret is printed:\n%s", out.String())
	}
	if code != 0 {
		fmt.Fprintf(&out, "exit %d\n", code)
	}
	return out.String()
}

// makeCertificate makes one of localhost that is valid for so long from now.
func makeCertificate(t *testing.T, valid time.Duration) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    time.Now().Add(-48 * time.Hour),
		NotAfter:     time.Now().Add(valid),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// full.toml has every key, and its values are the defaults.
func TestFullSampleIsTheDefaults(t *testing.T) {
	doc, wrong := readDocument(filepath.Join(samples, "full.toml"))
	if wrong != nil {
		t.Fatal(wrong)
	}
	got := &Config{}
	if problems := doc.apply(got.keys()); problems != nil {
		t.Fatal(problems)
	}
	if want := defaultConfig(); !reflect.DeepEqual(got, want) {
		t.Errorf("full.toml says\n%+v\nthe defaults are\n%+v", got, want)
	}
	for _, k := range got.keys() {
		if !doc.has(k.path) {
			t.Errorf("full.toml does not have %s", k.path)
		}
	}
}

// Each key sets one field, the one of its name: pgwire.idle_timeout_secs sets
// PGWire.IdleTimeout.
func TestEachKeySetsItsField(t *testing.T) {
	values := []any{true, "x", []any{"x"}, int64(7), int64(20000), "password", "redis", "continue", openAtFirstUse, "answer"}
	for i, k := range defaultConfig().keys() {
		before, c := fields(defaultConfig()), defaultConfig()
		set := c.keys()[i].set
		var changed []string
		for _, value := range values {
			if set(value) != nil {
				continue
			}
			for name, now := range fields(c) {
				if now != before[name] && !slices.Contains(changed, name) {
					changed = append(changed, name)
				}
			}
			if changed != nil {
				break
			}
		}
		name := k.path
		for _, unit := range []string{"_secs", "_ms", "_hours"} {
			name = strings.TrimSuffix(name, unit)
		}
		name = strings.ReplaceAll(name, "_", "")
		if len(changed) != 1 || changed[0] != name {
			t.Errorf("%s sets %v", k.path, changed)
		}
	}
}

// fields gives every value of a configuration by its path in lower case.
func fields(c *Config) map[string]string {
	all := map[string]string{}
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		if v.Kind() != reflect.Struct {
			all[strings.TrimPrefix(strings.ToLower(prefix), ".")] = fmt.Sprint(v.Interface())
			return
		}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			walk(prefix+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
	walk("", reflect.ValueOf(*c))
	return all
}

func TestPrecedence(t *testing.T) {
	config := func(text string) string { return filepath.Join(configDir(t, text), "raisin.toml") }
	with := config("[pgwire]\nport = 2000\nbind_address = \"127.0.0.2\"\n")
	without := config("")
	tests := []struct {
		name, want string
		args       []string
		env        map[string]string
	}{
		{"default", "127.0.0.1:6433 INFO", []string{"--config", without}, nil},
		{"file", "127.0.0.2:2000 INFO", []string{"--config", with}, nil},
		{"environment over file", "127.0.0.3:3000 DEBUG", []string{"--config", with},
			map[string]string{"RAISIN_PORT": "3000", "RAISIN_BIND_ADDRESS": "127.0.0.3", "RAISIN_LOG_LEVEL": "debug"}},
		{"flag over environment", "127.0.0.4:4000 ERROR",
			[]string{"--config", with, "--port", "4000", "--bind-address=127.0.0.4", "-log-level", "error"},
			map[string]string{"RAISIN_PORT": "wrong", "RAISIN_BIND_ADDRESS": "127.0.0.3", "RAISIN_LOG_LEVEL": "debug"}},
		{"an empty variable is none", "127.0.0.2:2000 INFO", []string{"--config", with}, map[string]string{"RAISIN_PORT": ""}},
		{"config by environment", "127.0.0.2:2000 INFO", nil, map[string]string{"RAISIN_CONFIG": with}},
		{"config by flag over environment", "127.0.0.1:6433 INFO", []string{"--config", without}, map[string]string{"RAISIN_CONFIG": with}},
		{"dev mode by environment", "127.0.0.1:7000 INFO dev", nil, map[string]string{"RAISIN_DEV_MODE": "1", "RAISIN_PORT": "7000"}},
		{"dev mode off by flag", "127.0.0.2:2000 INFO", []string{"--dev-mode=false", "--config", with}, map[string]string{"RAISIN_DEV_MODE": "1"}},
	}
	for _, tt := range tests {
		o, err := parseOptions(tt.args, func(name string) string { return tt.env[name] })
		if err != nil {
			t.Fatal(err)
		}
		c, problems := load(o)
		if problems != nil {
			t.Errorf("%s: %v", tt.name, problems)
			continue
		}
		got := fmt.Sprintf("%s:%d %s", c.PGWire.BindAddress, c.PGWire.Port, c.LogLevel)
		if c.DevMode {
			got += " dev"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestDevMode(t *testing.T) {
	o, err := parseOptions([]string{"--dev-mode"}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	c, problems := load(o)
	if problems != nil {
		t.Fatal(problems)
	}
	if c.Auth.Method != "trust" || !c.Auth.AllowAnonymous || !c.Locks.Enabled ||
		c.Locks.Backend != "inprocess" || c.Locks.InProcess.DataDir != "" || c.PGWire.BindAddress != "127.0.0.1" {
		t.Errorf("%+v", c)
	}
}

func TestLoadedFiles(t *testing.T) {
	dir := configDir(t, `
[pgwire]
tls_cert = "cert.pem"
tls_key = "key.pem"
`)
	o, _ := parseOptions([]string{"--config", filepath.Join(dir, "raisin.toml")}, func(string) string { return "" })
	c, problems := load(o)
	if problems != nil {
		t.Fatal(problems)
	}
	if _, ok := c.Users.Lookup("alice"); !ok || len(c.TLS.Certificates) != 1 {
		t.Error("the users or the certificate are not loaded")
	}
	if want := filepath.Join(dir, "users.txt"); c.Auth.UsersFile != want {
		t.Errorf("users_file %s, want it beside the config file", c.Auth.UsersFile)
	}
}

func TestNearest(t *testing.T) {
	known := func(yield func(string) bool) {
		for _, k := range defaultConfig().keys() {
			if !yield(k.path) {
				return
			}
		}
	}
	for path, want := range map[string]string{
		"pgwire.prot":           "pgwire.port",
		"pgwire.maxconnections": "pgwire.max_connections",
		"port":                  "pgwire.port",
		"auth.port":             "pgwire.port",
		"locks.url":             "locks.redis.url",
		"lock.enabled":          "locks.enabled",
		"replication.enable":    "replication.enabled",
		"auth.user_file":        "auth.users_file",
		"upstream.passwordfile": "upstream.password_file",
		"locks.data_dir":        "locks.inprocess.data_dir",
		"pgwire.idle_timeout":   "pgwire.idle_timeout_secs",
	} {
		if got := nearest(path, known); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"port", "prot", 1}, {"kitten", "sitting", 3}, {"ab", "ab", 0}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance %q %q = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
