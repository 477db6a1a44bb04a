package torture

import (
	"context"
	"fmt"
)

// IsolateMaster promotes a replica that has missed some changes, while the first proxy goes on with the old master, and
// neither hears of the other. Then the old master is gone.
type IsolateMaster struct{}

// Strike implements Fault.
func (IsolateMaster) Strike(ctx context.Context, s *Site) error {
	const some = 20
	s.Redis.ReplicaLink.Break()
	if err := s.awaitAcknowledged(ctx); err != nil {
		return err
	}
	s.Redis.Replica.Promote()
	s.recorder.losing(func() { s.Redis.Link.To(s.Redis.Replica) })
	begin := s.recorder.now()
	s.pausedSince(begin, s.keys())
	alone := s.clientsOf(0)
	s.recorder.awaitToldTo(ctx, alone, some)
	s.recorder.awaitCode(ctx, "55000")
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("vacuous: not both of the old master, by %d answers, and of the loss: %w", some, err)
	}
	s.recorder.forked(&fork{begin: begin, end: s.recorder.now(), alone: alone})
	s.recorder.losing(func() { s.Redis.First.To(s.Redis.Replica) })
	return nil
}
