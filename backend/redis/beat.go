package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"raisinproxy/backend"
)

// A beat is a number that each proxy writes every second into a hash on each master, and reads back: data that
// are older than the last beat, or gone, are noticed for all of a master's locks and pools at once. In a
// Cluster each master has a beat of its own. The id record says which beats there have to be, so
// that a proxy that has seen none of them misses them too.

// mostBeats bounds the search for a number whose slot a master has. A master with a single
// slot of the 16384 is found nearly always; one that is not is not used.
const mostBeats = 1 << 17

// beatsOf finds the beat of each master, by its address. One that was found stays while its slot does.
func (s *servers) beatsOf(ctx context.Context, namespace string, masters map[string]*goredis.Client) (map[string]string, error) {
	keys := make(map[string]string, len(masters))
	if s.cluster == nil {
		for addr := range masters {
			keys[addr] = beatKey(namespace, 0)
		}
		return keys, nil
	}
	for number := 0; number < mostBeats && len(keys) < len(masters); number++ {
		key := beatKey(namespace, number)
		node, err := s.forKey(ctx, key)
		if err != nil {
			return nil, err
		}
		if addr := node.Options().Addr; masters[addr] != nil && keys[addr] == "" {
			keys[addr] = key
		}
	}
	return keys, nil
}

// beatOn leaves a beat on one master. listed is what the id record says of it: its name, or "" if there
// need not be one. The answer is the name of the beat that is there now.
func (s *Store) beatOn(ctx context.Context, node *goredis.Client, key, listed string) (name string, err error) {
	proxy, known := s.watch.beatKnown(key)
	for fresh := ""; ; fresh = rand.Text()[:12] {
		texts, err := node.Eval(ctx, beatScript.text, []string{key}, proxy, known.Last+1, fresh).StringSlice()
		if err != nil {
			return "", err
		}
		s.sawTime(texts[1])
		if texts[0] == "LACKS" {
			return "", &unsupportedError{addr: node.Options().Addr, command: texts[2], said: texts[3]}
		}
		if texts[0] == "SEALED" {
			s.watch.lookNow() // the id record tells more
			return "", backend.ErrMoved
		}
		if texts[0] == "GONE" {
			// It is made anew when its loss is noted, and not before: other proxies would not notice.
			s.watch.beatGone(key, listed)
			s.watch.saveLoss()
			continue
		}
		if len(texts) > 3 {
			before, _ := strconv.ParseInt(texts[3], 10, 64)
			s.watch.beatThere(node.Options().Addr, key, listed, beatState{Name: texts[2], Last: before})
		}
		s.watch.beaten(node.Options().Addr, key, beatState{Name: texts[2], Last: known.Last + 1})
		return texts[2], nil
	}
}

// unsupportedError is a server that lacks a command, or does not let this user have it.
type unsupportedError struct{ addr, command, said string }

func (e *unsupportedError) Error() string {
	return fmt.Sprintf("the server at %s cannot be used: it refuses %s, which needs Redis 6.2 or newer, or Valkey, and a user who may call it (%s)", e.addr, e.command, e.said)
}

// sawTime notes the time of a server, and says so if it is one that cannot be used.
func (s *Store) sawTime(text string) {
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !isTime(micros) {
		s.log.Error("redis: its clock cannot be used: nothing is granted until it is right", "error", errClock, "microseconds", text)
		return
	}
	s.clock.see(micros, 0)
}

// listOf reads the beats of the id record, by key.
func listOf(text string) map[string]string {
	beats := make(map[string]string)
	for word := range strings.FieldsSeq(text) {
		if i := strings.LastIndexByte(word, '='); i >= 0 {
			beats[word[:i]] = word[i+1:]
		}
	}
	return beats
}

// beatKnown is the beat that this proxy has left last.
func (w *watch) beatKnown(key string) (proxy string, known beatState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Proxy, w.state.Beats[key]
}

// beatGone judges a beat that is not there.
func (w *watch) beatGone(key, listed string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.state.Beats[key]; !known && listed == "" {
		return // the first of this master
	}
	w.loseLocked("the beat " + key + " is gone, and so are all data of its master")
	delete(w.state.Beats, key)
}

// beatThere judges a beat that is there on the master at addr. One that has just taken over may lack beats,
// which nobody was told of: its history has told that it lacks nothing else.
func (w *watch) beatThere(addr, key, listed string, b beatState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.state.Beats[key]
	switch {
	case ok && known.Name != b.Name, listed != "" && listed != b.Name:
		w.loseLocked("the beat " + key + " was gone, and was made anew")
	case ok && b.Last < known.Last && !w.continues[addr]:
		w.loseLocked("the last beats of this proxy are gone")
	}
}

// beaten notes a beat that was left on the master at addr, which calls may rest on from now on.
func (w *watch) beaten(addr, key string, b beatState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Beats[key] = b
	delete(w.continues, addr)
	n, ok := w.state.Nodes[addr]
	if !ok {
		return
	}
	judged := strings.Join([]string{n.RunID, n.ReplID, b.Name, key}, " ")
	if w.judged[addr] != judged {
		w.judged[addr] = judged
		w.epoch.Add(1)
	}
}

// idRecord is what the id record of the name space says.
type idRecord struct {
	id, before   string
	create, lost bool
	beats        map[string]string
	maxTTL       time.Duration
	seal         string
}

// readID reads the id record, and notes in it a loss and new beats. Without one it gives nil.
func (s *Store) readID(ctx context.Context, lossOf, newBeats string) (*idRecord, error) {
	answer, err := s.probe.eval(ctx, idScript, idKey(s.opts.Namespace), lossOf, milliseconds(s.watch.longest()), newBeats, s.clock.floor())
	if err != nil {
		return nil, err
	}
	s.sawTime(answer[1])
	if answer[0] == "NOID" {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	r := &idRecord{id: answer[2], before: answer[3], create: answer[4] == "1", lost: answer[5] == "1", beats: listOf(answer[6]), seal: answer[9]}
	longest, _ := strconv.ParseInt(answer[7], 10, 64)
	r.maxTTL = time.Duration(longest) * time.Millisecond
	floor, _ := strconv.ParseInt(answer[8], 10, 64)
	s.clock.see(0, min(floor, backend.MaxToken-1))
	return r, nil
}

// identify reads the id record, and makes that of a name space that is new.
func (s *Store) identify(ctx context.Context) (*idRecord, error) {
	id, lost := s.watch.lossOf()
	lossOf := ""
	if lost != "" {
		lossOf = id
	}
	r, err := s.readID(ctx, lossOf, "")
	if err != nil {
		return nil, err
	}
	if r == nil {
		if r, err = s.withoutID(ctx, id); err != nil {
			return nil, err
		}
	}
	if r.id != "" {
		s.watch.identified(r)
	}
	return r, nil
}

// withoutID makes the id record of a name space that is new: nobody has seen it, and it is
// empty. Otherwise it gives an empty record.
func (s *Store) withoutID(ctx context.Context, seen string) (*idRecord, error) {
	if seen != "" {
		s.watch.gone("the id record is gone")
		return &idRecord{}, nil
	}
	empty, err := s.probe.empty(ctx, s.opts.Namespace)
	if err != nil {
		return nil, err
	}
	if !empty {
		s.watch.gone("there is no id record, and yet there are locks or pools: see `raisinproxy adopt --init`")
		return &idRecord{}, nil
	}
	made, err := adopt(ctx, s.probe, &s.opts, "", AdoptOptions{Init: true, AllowCreate: true})
	var exists *ExistsError
	if err != nil && !errors.As(err, &exists) { // another proxy was quicker
		return nil, err
	}
	if err == nil {
		s.log.Info("redis: the name space is new and empty, and has an id now", "namespace", s.opts.Namespace, "id", made.ID)
	}
	return s.identify(ctx)
}

// beatAll leaves a beat on every master that could be looked at. One that fails does not keep
// the others from being judged.
func (s *Store) beatAll(ctx context.Context, masters map[string]*goredis.Client) error {
	r, err := s.identify(ctx)
	if err != nil || r.seal != "" {
		return err // a sealed name space has no life that beats could tell of
	}
	keys, err := s.probe.beatsOf(ctx, s.opts.Namespace, masters)
	if err != nil {
		return err
	}
	var failed []error
	var unlisted []string
	for addr, node := range masters {
		key := keys[addr]
		if key == "" {
			failed = append(failed, errors.New("redis: no beat found for the master "+addr))
			continue
		}
		name, err := s.beatOn(ctx, node, key, r.beats[key])
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if r.id != "" && r.beats[key] != name {
			unlisted = append(unlisted, key+"="+name)
		}
	}
	if _, lost := s.watch.lossOf(); len(unlisted) > 0 || lost != "" && !r.lost && r.id != "" {
		if err := s.list(ctx, unlisted); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// list notes in the id record which beats there are now, and a loss that was noticed on the way.
func (s *Store) list(ctx context.Context, beats []string) error {
	id, lost := s.watch.lossOf()
	if lost == "" {
		id = ""
	}
	_, err := s.readID(ctx, id, strings.Join(beats, " "))
	return err
}
