package main

import (
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notifier tells the service manager how far the program is (Type=notify in a unit of
// systemd). Without one it tells nobody.
type notifier struct{ log *slog.Logger }

func (n notifier) ready()    { n.tell(daemon.SdNotifyReady) }
func (n notifier) stopping() { n.tell(daemon.SdNotifyStopping) }

func (n notifier) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.log.Warn("the service manager cannot be told", "state", state, "error", err)
	}
}
