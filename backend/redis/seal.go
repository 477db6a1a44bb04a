package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
)

// What moves pools and leases out of a name space, or into one, seals it: first the id record, which stops every
// proxy within a second; then the beats, so that no master makes a pool or grants a lock that it does not know; then
// each lock and pool by itself, in the script that reads or makes it. So a call on a key is applied before the
// export has read it or not at all, whatever its proxy knows by then, and there is no moment that
// has to be waited for.
//
// The id record says how far that is, as "state id-of-the-file", so that a tool that was interrupted can go on.
const (
	sealExporting = "exporting"
	sealExported  = "exported"
	sealChecking  = "checking"  // whether there is anything that an import would be added to
	sealReplacing = "replacing" // what an export has left is being removed
	sealImporting = "importing"
	sealOpening   = "opening" // an import is complete, and its keys lose their marks
)

// pageSize is how many keys are asked for, or worked on, at once.
const pageSize = 500

// moverTimeout is how long one exchange may take. Nobody waits for a tool as for a call.
const moverTimeout = time.Minute

// mover works on a name space as a whole.
type mover struct {
	o       Options
	servers *servers
	state   state  // what the proxy of this configuration knows
	mark    string // what its keys are sealed with
	record  spaceRecord
	slots   string                   // of a Cluster, when the work began
	loaded  map[*goredis.Client]bool // servers that have the scripts
}

// spaceRecord is what the id record says, as far as tools look at it.
type spaceRecord struct {
	id, before, state, file string
	lost                    bool
	floor                   int64
}

func (r *spaceRecord) seal() string {
	if r.state == "" {
		return ""
	}
	return r.state + " " + r.file
}

// withMover does something to the name space of o.
func withMover(ctx context.Context, o Options, work func(context.Context, *mover) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	o = o.withDefaults()
	useLog(o.Log)
	o.Timeout = max(o.Timeout, moverTimeout)
	m := &mover{o: o, mark: rand.Text(), loaded: make(map[*goredis.Client]bool)}
	var err error
	if m.state, err = readState(o.StateFile, o.Namespace); err != nil {
		return err
	}
	if m.servers, err = connect(&o, nil); err != nil {
		return err
	}
	if err = m.readRecord(ctx); err == nil {
		err = work(ctx, m)
	}
	return errors.Join(err, m.servers.close())
}

// readRecord reads the id record; without one m.record is empty.
func (m *mover) readRecord(ctx context.Context) error {
	node, err := m.servers.forKey(ctx, idKey(m.o.Namespace))
	if err != nil {
		return err
	}
	fields, err := node.HMGet(ctx, idKey(m.o.Namespace), "id", "before", "lost", "floor", "sealed").Result()
	if err != nil {
		return fmt.Errorf("reading the id record: %w", err)
	}
	text := func(i int) string { s, _ := fields[i].(string); return s }
	m.record = spaceRecord{id: text(0), before: text(1), lost: text(2) == "1"}
	m.record.floor, _ = strconv.ParseInt(text(3), 10, 64)
	m.record.state, m.record.file, _ = strings.Cut(text(4), " ")
	return nil
}

// known says why the name space is none that this proxy's configuration was used with; nil: it is, or was
// never used.
func (m *mover) known() error {
	switch {
	case m.record.id == "" && m.state.ID != "":
		return fmt.Errorf("%w: the id record of namespace %s is gone: see `raisinproxy adopt`", backend.ErrStateLost, m.o.Namespace)
	case m.record.lost:
		return fmt.Errorf("%w: a proxy has noticed that namespace %s lost acknowledged state: see what is there, and run `raisinproxy adopt` first", backend.ErrStateLost, m.o.Namespace)
	case m.state.ID == "", m.state.ID == m.record.id, slices.Contains(strings.Fields(m.record.before), m.state.ID):
		return nil
	}
	return fmt.Errorf("%w: namespace %s has another id than before: see `raisinproxy adopt`", backend.ErrStateLost, m.o.Namespace)
}

// sealParts are what a new seal brings along.
type sealParts struct {
	floor  int64
	maxTTL time.Duration
	create string // "1": missing pools may be created from now on; "": as before
}

// setSeal replaces the seal that was read last by another one, or by none if state is "". It fails if
// somebody else was quicker.
func (m *mover) setSeal(ctx context.Context, state, file string, parts sealParts) error {
	next := m.record
	next.before, next.id = m.record.id+" "+m.record.before, rand.Text()
	next.state, next.file = state, file
	answer, err := m.servers.eval(ctx, sealScript, idKey(m.o.Namespace), m.record.id, m.record.seal(), next.id, next.seal(),
		parts.floor, milliseconds(parts.maxTTL), parts.create)
	switch {
	case err != nil:
		return fmt.Errorf("sealing: %w", err)
	case answer[0] != "SEALED":
		return errors.New("the id record was changed meanwhile: another tool is at work on the namespace")
	}
	m.record = next
	return nil
}

// sealBeats makes sure that no master makes a pool, or grants a lock, that it does not know.
func (m *mover) sealBeats(ctx context.Context) error {
	masters, err := m.servers.masters(ctx)
	if err != nil {
		return err
	}
	keys, err := m.servers.beatsOf(ctx, m.o.Namespace, masters)
	if err != nil {
		return err
	}
	for addr, node := range masters {
		key := keys[addr]
		if key == "" {
			return errors.New("no beat found for the master " + addr)
		}
		if err := node.HSet(ctx, key, "x", m.mark).Err(); err != nil {
			return fmt.Errorf("sealing %s: %w", key, err)
		}
		// A proxy may use another one that it found when the slots were others.
		err := m.scan(ctx, node, beatPrefix(m.o.Namespace), func(keys []string) error {
			return m.pipeline(ctx, node, keys, func(pipe goredis.Pipeliner, key string) { pipe.HSet(ctx, key, "x", m.mark) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// onEach calls work with the locks and pools of every master, some at a time. A key may come twice.
func (m *mover) onEach(ctx context.Context, work func(node *goredis.Client, keys []string) error) error {
	masters, err := m.servers.masters(ctx)
	if err != nil {
		return err
	}
	for _, node := range masters {
		for _, kind := range []string{poolKind, lockKind} {
			prefix := m.o.Namespace + ":" + kind + ":{"
			if err := m.scan(ctx, node, prefix, func(keys []string) error { return work(node, keys) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan calls work with the keys of a server that begin with prefix.
func (m *mover) scan(ctx context.Context, node *goredis.Client, prefix string, work func(keys []string) error) error {
	pattern := globOf(prefix) + "*"
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, pageSize).Result()
		if err != nil {
			return fmt.Errorf("looking for keys: %w", err)
		}
		if len(keys) > 0 {
			if err := work(keys); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// pipeline sends a command for each key at once, and waits for the replicas that a call would wait for.
func (m *mover) pipeline(ctx context.Context, node *goredis.Client, keys []string, add func(pipe goredis.Pipeliner, key string)) error {
	pipe := node.Pipeline()
	for _, key := range keys {
		add(pipe, key)
	}
	_, err := m.exec(ctx, pipe)
	return err
}

// load gives a server the scripts, of which pipelines send the hash only.
func (m *mover) load(ctx context.Context, node *goredis.Client) error {
	if m.loaded[node] {
		return nil
	}
	for _, sc := range []*script{takeScript, putScript, reserveScript} {
		if err := node.ScriptLoad(ctx, sc.text).Err(); err != nil {
			return fmt.Errorf("loading a script: %w", err)
		}
	}
	m.loaded[node] = true
	return nil
}

// exec sends a pipeline, and waits for replicas.
func (m *mover) exec(ctx context.Context, pipe goredis.Pipeliner) ([]goredis.Cmder, error) {
	var wait *goredis.Cmd
	if m.o.WaitReplicas > 0 {
		wait = pipe.Do(ctx, "WAIT", m.o.WaitReplicas, m.o.Timeout.Milliseconds()/2)
	}
	replies, err := pipe.Exec(ctx)
	if err != nil {
		return nil, err
	}
	if wait != nil {
		replies = replies[:len(replies)-1]
		if have, err := wait.Int(); err != nil || have < m.o.WaitReplicas {
			return nil, errors.Join(errShort, err)
		}
	}
	return replies, nil
}

// steady notes how the slots of a Cluster lie, and fails if any is on its way: its keys would be seen twice
// or not at all.
func (m *mover) steady(ctx context.Context) error {
	m.servers.changed(ctx)
	_, slots, err := m.servers.layout(ctx)
	if err != nil || slots == m.slots {
		return err
	}
	if m.slots != "" {
		return errSlotsMoved
	}
	m.slots = slots
	return nil
}

// open takes all seals off. Beats get other names, so that a proxy that has overslept all this, and knows neither
// floor nor pools, is judged anew before it makes anything. The id record comes last.
func (m *mover) open(ctx context.Context, parts sealParts) error {
	err := m.onEach(ctx, func(node *goredis.Client, keys []string) error {
		return m.pipeline(ctx, node, keys, func(pipe goredis.Pipeliner, key string) { pipe.HDel(ctx, key, "x") })
	})
	if err != nil {
		return err
	}
	masters, err := m.servers.masters(ctx)
	if err != nil {
		return err
	}
	for _, node := range masters {
		err := m.scan(ctx, node, beatPrefix(m.o.Namespace), func(keys []string) error {
			return m.pipeline(ctx, node, keys, func(pipe goredis.Pipeliner, key string) {
				pipe.HSet(ctx, key, "gen", rand.Text()[:12])
				pipe.HDel(ctx, key, "x")
			})
		})
		if err != nil {
			return err
		}
	}
	return m.setSeal(ctx, "", "", parts)
}

// remove deletes the keys that begin with one of the prefixes.
func (m *mover) remove(ctx context.Context, prefixes ...string) error {
	masters, err := m.servers.masters(ctx)
	if err != nil {
		return err
	}
	for _, node := range masters {
		for _, prefix := range prefixes {
			err := m.scan(ctx, node, prefix, func(keys []string) error {
				return m.pipeline(ctx, node, keys, func(pipe goredis.Pipeliner, key string) { pipe.Unlink(ctx, key) })
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Reopen takes the seal of an export off a name space: its proxies go on within a second. id is that of the exported
// file, which voided makes one that cannot be imported, before; "" if the file is lost.
func Reopen(ctx context.Context, o Options, id string, voided func() error) error {
	return withMover(ctx, o, func(ctx context.Context, m *mover) error {
		switch m.record.state {
		case "":
			return fmt.Errorf("namespace %s was not exported: there is nothing to reopen", o.Namespace)
		case sealExporting, sealExported:
			if id != "" && id != m.record.file {
				return fmt.Errorf("namespace %s was exported to another file, with the id %s", o.Namespace, m.record.file)
			}
			if err := voided(); err != nil {
				return err
			}
			return m.open(ctx, sealParts{})
		}
		return m.unfinished()
	})
}

// unfinished is for a name space that an import has begun to fill.
func (m *mover) unfinished() error {
	return fmt.Errorf("an import into namespace %s was not finished: run `raisinproxy import` of the file with the id %s again", m.o.Namespace, m.record.file)
}

// discardLog is for judgements that are told otherwise.
var discardLog = slog.New(slog.DiscardHandler)
