package testservers

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
)

// Proxy is a raisinproxy that listens.
type Proxy struct {
	*Process
	Address string
	Port    int
}

// StartProxy returns when the proxy says in its log where it listens: port 0 in its
// configuration is a free one.
func StartProxy(ctx context.Context, o Options) (*Proxy, error) {
	process, err := Start(o)
	if err != nil {
		return nil, err
	}
	p := &Proxy{Process: process}
	return p, p.Ready(ctx, func(context.Context) error {
		p.Address = addressIn(p.Log().String())
		where, err := netip.ParseAddrPort(p.Address)
		p.Port = int(where.Port())
		return err
	})
}

func addressIn(log string) string {
	for line := range bytes.Lines([]byte(log)) {
		var record struct{ Msg, Address string }
		if json.Unmarshal(line, &record) == nil && record.Msg == "listening" {
			return record.Address
		}
	}
	return ""
}
