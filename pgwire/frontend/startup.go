package frontend

import (
	"encoding/binary"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jeroenrinzema/psql-wire/codes"

	"raisinproxy/backend"
	"raisinproxy/pgwire/login"
	"raisinproxy/pgwire/settings"
	"raisinproxy/pgwire/wire"
	"raisinproxy/sqlfuncs"
	"raisinproxy/sqlfuncs/pgerr"
)

// startup has login find out whose the connection is, and brings it from the log-in to ReadyForQuery.
// An error that is a *pgerr.Error is to be told to the client.
func (s *Session) startup(door *login.Door) error {
	guest, err := door.Enter(s.Client, s.Log).LogIn()
	if err != nil {
		return err
	}
	s.admitAs(guest)
	if err := s.Env.Registry.Admit(s.Caller.User); err != nil {
		return err
	}
	s.admitted = true
	s.Client.Adopt(guest.StartBy)
	if err := s.Handler.Begin(guest); err != nil {
		return err
	}
	s.Client.Conn().SetDeadline(time.Time{})
	if s.Client.IsStopping() {
		return login.ErrShutdown
	}
	s.Client.In.Limit = s.Env.MaxMessageBytes
	s.Client.IdleTimeout = s.Env.IdleTimeout
	s.Key = s.Env.Registry.Register(s.Client, s.Handler.ProcessID())
	s.Handler.ReportGreeting()
	s.Client.Out.Message(&pgproto3.BackendKeyData{ProcessID: uint32(s.Key.PID), SecretKey: binary.BigEndian.AppendUint32(nil, s.Key.Secret)})
	s.Client.Out.ReadyForQuery(wire.StatusIdle)
	s.Refresh()
	return nil
}

// admitAs notes whose session it is.
func (s *Session) admitAs(guest *login.Guest) {
	s.View.Vars = settings.New(s.Env.Defaults, guest.Identity.User)
	s.Caller = sqlfuncs.Caller{
		User:  guest.Identity.User,
		Scope: backend.Scope{Tenant: guest.Identity.Tenant, Repository: guest.Database},
	}
	s.Log = s.Log.With("user", guest.Identity.User, "database", guest.Database)
}

// Fatal is an error that ends the session.
func Fatal(err error) error {
	e := *pgerr.From(err)
	e.Severity = pgerr.SeverityFatal
	return &e
}

// parseOptions reads the command-line arguments that the start-up packet's
// options stand for: -c name=value and --name=value, with backslashes before
// blanks that do not separate.
func parseOptions(options string) ([]wire.Parameter, error) {
	var parsed []wire.Parameter
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		word, flag := words[i], "-c "
		if word == "-c" && i+1 < len(words) {
			i++
			word += words[i]
		}
		setting, ok := strings.CutPrefix(word, "-c")
		if !ok {
			flag = "--"
			setting, ok = strings.CutPrefix(word, flag)
		}
		if !ok || setting == "" {
			return nil, pgerr.Fatalf(codes.Syntax, "invalid command-line argument for server process: %s", word).
				WithHint("Try \"postgres --help\" for more information.")
		}
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, pgerr.Fatalf(codes.Syntax, "%s%s requires a value", flag, setting)
		}
		parsed = append(parsed, wire.Parameter{Name: strings.ReplaceAll(name, "-", "_"), Value: value})
	}
	return parsed, nil
}

// optionWord is a word among options, escaped a character that a backslash keeps from ending it.
var (
	optionWord = regexp.MustCompile(`(?s)(?:\\.|[^ \t\n\r\v\f])+`)
	escaped    = regexp.MustCompile(`(?s)\\(.)`)
)

func splitOptions(options string) []string {
	words := optionWord.FindAllString(options, -1)
	for i := range words {
		words[i] = escaped.ReplaceAllString(words[i], "$1")
	}
	return words
}
