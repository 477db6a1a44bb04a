package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// Who reads all keys of a Cluster has to know that no slot is on its way meanwhile: its keys would be seen twice, or
// not at all.

var errSlotsMoved = errors.New("slots of the Cluster have moved meanwhile: run this again when they stay where they are")

// masters are the servers with data, by address. It fails if one of them does not answer.
func (s *servers) masters(ctx context.Context) (map[string]*goredis.Client, error) {
	found := make(chan *goredis.Client)
	failed := make(chan error, 1)
	go func() {
		defer close(found)
		failed <- s.each(ctx, func(ctx context.Context, node *goredis.Client) error {
			if _, err := lookAt(ctx, node); err != nil {
				return fmt.Errorf("%s: %w", node.Options().Addr, err)
			}
			found <- node
			return nil
		})
	}()
	masters := make(map[string]*goredis.Client)
	for node := range found {
		masters[node.Options().Addr] = node
	}
	return masters, <-failed
}

// layout is the masters, and which of them has which slots; "" without a Cluster. It fails while slots move.
func (s *servers) layout(ctx context.Context) (masters map[string]*goredis.Client, slots string, err error) {
	if masters, err = s.masters(ctx); err != nil || s.cluster == nil {
		return masters, "", err
	}
	var lines []string
	for addr, node := range masters {
		text, err := node.ClusterNodes(ctx).Result()
		if err != nil {
			return nil, "", err
		}
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) < 8 || !strings.Contains(words[2], "myself") {
				continue
			}
			slots := strings.Join(words[8:], " ")
			if strings.Contains(slots, "[") {
				return nil, "", fmt.Errorf("slots of the Cluster are moving at %s: run this again when they stay where they are", addr)
			}
			lines = append(lines, words[0]+" "+slots)
		}
	}
	slices.Sort(lines)
	return masters, strings.Join(lines, "\n"), nil
}
