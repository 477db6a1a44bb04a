package inprocess

import "time"

// expiry is a min-heap of leases by deadline. Each lease knows its place (lease.at), so that
// one in the middle is removed without a search. It is written out, rather than given to
// container/heap, to be free of calls through an interface under the shard's mutex.
//
// Among a million leases every step to another one is a cache miss. So each has four children
// instead of two, which makes half as many levels, and a lease's deadline stands beside the
// pointer to it.
type expiry []dated

// dated is a lease and a copy of its deadline.
type dated struct {
	deadline time.Duration
	lease    *lease
}

// arity is the number of children; those of i begin at arity*i+1. Four are a cache line.
const arity = 4

func (h *expiry) push(l *lease) {
	*h = append(*h, dated{})
	h.up(len(*h)-1, dated{l.deadline, l})
}

func (h *expiry) remove(l *lease) {
	i, last := l.at, len(*h)-1
	moved := (*h)[last]
	(*h)[last] = dated{}
	*h = (*h)[:last]
	if i < last {
		h.down(i, moved)
		h.up(moved.lease.at, moved)
	}
}

// order makes a heap of what is in no order yet. It looks at each of them a few times,
// where one push after the other would climb through the whole heap.
func (h *expiry) order() {
	for i, d := range *h {
		d.lease.at = i
	}
	for i := (len(*h) - 2) / arity; i >= 0 && i < len(*h); i-- {
		h.down(i, (*h)[i])
	}
}

// postpone moves a lease to a later deadline.
func (h *expiry) postpone(l *lease, end time.Duration) {
	l.deadline = end
	h.down(l.at, dated{end, l})
}

// up puts d at i or, where that ends before a parent, above it.
func (h *expiry) up(i int, d dated) {
	for i > 0 {
		parent := (i - 1) / arity
		if (*h)[parent].deadline <= d.deadline {
			break
		}
		h.put(i, (*h)[parent])
		i = parent
	}
	h.put(i, d)
}

// down puts d at i or, where that ends after a child, below it.
func (h *expiry) down(i int, d dated) {
	for {
		child := h.earliest(arity*i + 1)
		if child < 0 || d.deadline <= (*h)[child].deadline {
			break
		}
		h.put(i, (*h)[child])
		i = child
	}
	h.put(i, d)
}

// earliest is the place of the one that ends first among brothers, of which the first is at
// first; -1 if there are none.
func (h *expiry) earliest(first int) int {
	if first >= len(*h) {
		return -1
	}
	found := first
	for i := first + 1; i < min(first+arity, len(*h)); i++ {
		if (*h)[i].deadline < (*h)[found].deadline {
			found = i
		}
	}
	return found
}

func (h *expiry) put(i int, d dated) {
	(*h)[i] = d
	d.lease.at = i
}
