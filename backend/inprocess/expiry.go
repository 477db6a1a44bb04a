package inprocess

import "time"

// expiry is a binary min-heap of leases by deadline. Each lease knows its place
// (lease.at), so that one in the middle is removed without a search. It is
// written out, rather than given to container/heap, to be free of calls through
// an interface under the shard's mutex.
type expiry []*lease

func (h *expiry) push(l *lease) {
	*h = append(*h, l)
	l.at = len(*h) - 1
	h.up(l.at)
}

func (h *expiry) remove(l *lease) {
	i, last := l.at, len(*h)-1
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
}

// postpone moves a lease to a later deadline.
func (h *expiry) postpone(l *lease, end time.Duration) {
	l.deadline = end
	h.down(l.at)
}

func (h *expiry) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if (*h)[parent].deadline <= (*h)[i].deadline {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *expiry) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(*h) {
			return
		}
		if right := child + 1; right < len(*h) && (*h)[right].deadline < (*h)[child].deadline {
			child = right
		}
		if (*h)[i].deadline <= (*h)[child].deadline {
			return
		}
		h.swap(i, child)
		i = child
	}
}

func (h *expiry) swap(i, j int) {
	s := *h
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}
