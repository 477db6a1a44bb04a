package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
	"raisinproxy/backend/moving"
)

// Source is what a file says of a store of this kind.
const Source = "redis"

// ErrExported means that the name space was exported before.
var ErrExported = errors.New("the namespace was exported already")

// Export seals the name space of o, whose proxies may be running, writes its pools and live leases to a file and
// publishes it. From the first moment on no pool and no lock changes any more that the file tells of: what was
// sold before is missing in the file, and nothing is sold after. Calls fail with backend.ErrMoved.
//
// The name space stays sealed, whether Export succeeds or not, until Reopen. One that was exported before is
// refused with ErrExported unless again is set. A loss of state that proxies have noticed, or that the state
// file of o shows, is backend.ErrStateLost.
func Export(ctx context.Context, o Options, to *moving.Writer, again bool) (totals moving.Totals, err error) {
	err = withMover(ctx, o, func(ctx context.Context, m *mover) error {
		totals, err = m.export(ctx, to, again)
		return err
	})
	return totals, err
}

func (m *mover) export(ctx context.Context, to *moving.Writer, again bool) (moving.Totals, error) {
	if err := m.mayExport(ctx, again); err != nil {
		return moving.Totals{}, err
	}
	if err := m.steady(ctx); err != nil {
		return moving.Totals{}, err
	}
	if err := m.setSeal(ctx, sealExporting, to.Header.ID, sealParts{}); err != nil {
		return moving.Totals{}, err
	}
	if err := m.sealBeats(ctx); err != nil {
		return moving.Totals{}, err
	}
	greatest := max(m.record.floor, m.state.Floor)
	err := m.onEach(ctx, func(node *goredis.Client, keys []string) error {
		found, err := m.take(ctx, node, keys, to)
		greatest = max(greatest, found)
		return err
	})
	if err != nil {
		return moving.Totals{}, err
	}
	if err := m.stillWhole(ctx); err != nil {
		return moving.Totals{}, err
	}
	micros, err := m.latestTime(ctx)
	if err != nil {
		return moving.Totals{}, err
	}
	totals, err := to.Finish(max(greatest, micros))
	if err != nil {
		return moving.Totals{}, err
	}
	if err := to.Publish(); err != nil {
		return moving.Totals{}, err
	}
	return totals, m.setSeal(ctx, sealExported, to.Header.ID, sealParts{})
}

// mayExport says why there is nothing that could be exported for certain; nil: there is.
func (m *mover) mayExport(ctx context.Context, again bool) error {
	if err := m.known(); err != nil {
		return err
	}
	switch m.record.state {
	case "":
	case sealExporting:
		return nil
	case sealExported:
		if !again {
			return fmt.Errorf("%w, to the file with the id %s: another store may have what is in it now. If that file is lost and was imported nowhere, --again writes another", ErrExported, m.record.file)
		}
		return nil
	default:
		return m.unfinished()
	}
	if m.record.id == "" {
		return fmt.Errorf("%w: no proxy has used namespace %s", ErrNoID, m.o.Namespace)
	}
	return m.judge(ctx)
}

// judge compares what is there with what the state file knows, as a proxy that is started would. It changes nothing:
// the proxy that has the file may be running.
func (m *mover) judge(ctx context.Context) error {
	if m.state.ID != m.record.id {
		return nil // what it knows is older than the last adopt, or nothing
	}
	masters, err := m.servers.masters(ctx)
	if err != nil {
		return err
	}
	o := m.o
	o.Log = discardLog
	w := newWatch(&o, m.state, new(serverClock))
	samples := make(map[string]sample)
	for addr, node := range masters {
		if samples[addr], err = takeSample(ctx, node); err != nil {
			return err
		}
	}
	w.saw(samples, nil)
	for key := range m.state.Beats {
		node, err := m.servers.forKey(ctx, key)
		if err != nil {
			return err
		}
		fields, err := node.HMGet(ctx, key, "gen", "b:"+m.state.Proxy).Result()
		if err != nil {
			return err
		}
		name, ok := fields[0].(string)
		if !ok {
			w.beatGone(key, "")
			continue
		}
		text, _ := fields[1].(string)
		last, _ := strconv.ParseInt(text, 10, 64)
		w.beatThere(node.Options().Addr, key, "", beatState{Name: name, Last: last})
	}
	if _, lost := w.lossOf(); lost != "" {
		return fmt.Errorf("%w: %s: see what is there, and run `raisinproxy adopt` first", backend.ErrStateLost, lost)
	}
	return nil
}

// take seals keys and writes what they are. It gives the greatest token that it has seen.
func (m *mover) take(ctx context.Context, node *goredis.Client, keys []string, to *moving.Writer) (greatest int64, err error) {
	if err := m.load(ctx, node); err != nil {
		return 0, err
	}
	pipe := node.Pipeline()
	for _, key := range keys {
		pipe.EvalSha(ctx, takeScript.sha, []string{key}, "", "0", "0", m.mark)
	}
	replies, err := m.exec(ctx, pipe)
	if err != nil {
		return 0, fmt.Errorf("reading locks and pools: %w", err)
	}
	for i, key := range keys {
		answer, err := replies[i].(*goredis.Cmd).StringSlice()
		if err != nil {
			return 0, err
		}
		token, err := writeTaken(m.o.Namespace, key, answer, to)
		if err != nil {
			return 0, err
		}
		greatest = max(greatest, token)
	}
	return greatest, nil
}

// writeTaken writes what a key was found to be, and gives its token.
func writeTaken(namespace, key string, answer []string, to *moving.Writer) (token int64, err error) {
	at := func(i int) int64 { n, _ := strconv.ParseInt(answer[i], 10, 64); return n }
	kind, scope, name, err := splitKey(namespace, key)
	if err != nil {
		return 0, err
	}
	switch word := answer[0]; {
	case word == "SEEN", word == "NOTES":
		return 0, nil
	case word == "FREE" && kind == lockKind:
		return at(2), nil
	case word == "LEASE" && kind == lockKind:
		lease := moving.Lease{Scope: scope, Key: name, Token: at(2), Remaining: time.Duration(at(3)) * time.Millisecond, Acquired: at(4) * 1000, User: answer[5]}
		return at(2), to.Write(moving.Record{Lease: &lease})
	case word == "POOL" && kind == poolKind:
		return 0, to.Write(moving.Record{Pool: &moving.Pool{Scope: scope, Name: name, Remaining: at(2), Capacity: capacityOf(answer[3])}})
	case word == "CLOCK":
		return 0, errClock
	}
	return 0, fmt.Errorf("the key %s has what no proxy writes (%v): an operator has to set it or to delete it", key, answer)
}

// stillWhole looks once more when everything was read: what was lost or moved meanwhile is not in the file.
func (m *mover) stillWhole(ctx context.Context) error {
	if err := m.steady(ctx); err != nil {
		return err
	}
	sealed := m.record
	if err := m.readRecord(ctx); err != nil {
		return err
	}
	if m.record.id != sealed.id {
		return errors.New("the id record was changed meanwhile: another tool is at work on the namespace, or Redis has lost state")
	}
	return m.known()
}

// latestTime is the latest of the servers' clocks: tokens are taken from it.
func (m *mover) latestTime(ctx context.Context) (int64, error) {
	masters, err := m.servers.masters(ctx)
	if err != nil {
		return 0, err
	}
	var latest int64
	for _, node := range masters {
		now, err := node.Time(ctx).Result()
		if err != nil {
			return 0, err
		}
		if micros := now.UnixMicro(); isTime(micros) {
			latest = max(latest, micros)
		}
	}
	return latest, nil
}
