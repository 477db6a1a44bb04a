package history

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"raisinproxy/backend"
)

// In these histories a lease lasts 100 ms, a call from the first to the second number
// of milliseconds, and the store's clock began at 1,000,000 ms when ours began at 0.

var rules = Rules{Epsilon: 2 * time.Millisecond}

func at(call, ret int, o Operation) Operation {
	o.Call, o.Return = millis(call), millis(ret)
	o.Scope = backend.Scope{Tenant: "default", Repository: "shop", Branch: "main"}
	o.Name = "k"
	return o
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func acquired(call, ret int, token int64) Operation {
	return at(call, ret, Operation{Kind: Acquire, TTL: millis(100), OK: true, Token: token, ExpiresMS: int64(1_000_000 + ret + 100)})
}

func refused(call, ret int) Operation {
	return at(call, ret, Operation{Kind: Acquire, TTL: millis(100)})
}

func waited(most int, o Operation) Operation {
	o.Wait = millis(most)
	return o
}

// renewed is by the holder of token 5.
func renewed(call, ret int, ok bool) Operation {
	return at(call, ret, Operation{Kind: Renew, TTL: millis(100), Token: 5, OK: ok})
}

func released(call, ret int, token int64, ok bool) Operation {
	return at(call, ret, Operation{Kind: Release, Token: token, OK: ok})
}

func claimed(call, ret int, units, remaining int64) Operation {
	return at(call, ret, Operation{Kind: Claim, Units: units, Capacity: 10, OK: true, Remaining: remaining})
}

func soldOut(call, ret int, units, remaining int64) Operation {
	return at(call, ret, Operation{Kind: Claim, Units: units, Capacity: 10, Remaining: remaining})
}

func restocked(call, ret int, units, remaining int64) Operation {
	return at(call, ret, Operation{Kind: Restock, Units: units, OK: true, Remaining: remaining})
}

func unknown(o Operation) Operation { return without(o, Unknown) }

func undone(o Operation) Operation { return without(o, Undone) }

func without(o Operation, outcome Outcome) Operation {
	o.Outcome, o.OK, o.Remaining, o.ExpiresMS = outcome, false, 0, 0
	if o.Kind == Acquire {
		o.Token = 0
	}
	return o
}

func refusedForLoss(o Operation) Operation {
	o = undone(o)
	o.Lost = true
	return o
}

func cut(o Operation) Operation {
	o.Cut = true
	return o
}

// loss is one from 10 to 20 ms.
func loss() Operation { return at(10, 20, Operation{Kind: Loss, TTL: millis(100)}) }

const (
	noOrder  = "no order of these calls"
	noTokens = "token"
	noStamps = "by the store's clock"
)

var histories = []struct {
	name    string
	history []Operation
	want    string // part of the rule that is broken; "": legal
}{
	{"nothing", nil, ""},

	// -- one holder --
	{"one after the other", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), acquired(4, 5, 6)}, ""},
	{"a lease ends by itself", []Operation{acquired(0, 1, 5), refused(50, 51), acquired(101, 102, 6)}, ""},
	{"at the very end either answer is right", []Operation{acquired(0, 1, 5), refused(100, 101), acquired(100, 101, 6)}, ""},
	{"two holders at once", []Operation{acquired(0, 1, 5), acquired(50, 51, 6)}, noOrder},
	{"two holders at once, by the store's clock", []Operation{acquired(0, 1, 5), acquired(50, 51, 6)}, noStamps},
	{"two holders, as the calls overlap", []Operation{acquired(0, 20, 5), acquired(10, 30, 6)}, noOrder},
	{"a holder after a refusal that came too late", []Operation{acquired(0, 1, 5), refused(110, 111)}, noOrder},
	{"refused although it was never held", []Operation{refused(0, 1)}, noOrder},
	{"refused although it was released", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), refused(4, 5)}, noOrder},
	{"a release under way may free it or not", []Operation{acquired(0, 1, 5), released(2, 9, 5, true), refused(3, 4), acquired(5, 6, 6)}, ""},

	// -- in line --
	{"a wait that runs out", []Operation{acquired(0, 1, 5), waited(60, refused(10, 70))}, ""},
	{"a wait that is over too soon", []Operation{acquired(0, 1, 5), waited(60, refused(10, 30))}, "may wait for 60ms was refused after 20ms"},
	{"a wait that runs out although it was never held", []Operation{waited(60, refused(10, 70))}, noOrder},
	{"granted in its turn", []Operation{acquired(0, 1, 5), waited(60, acquired(10, 50, 6)), released(40, 45, 5, true)}, ""},
	{"granted before its turn", []Operation{acquired(0, 1, 5), waited(60, acquired(10, 30, 6)), released(40, 45, 5, true)}, noOrder},
	{"granted when the lease before ends", []Operation{acquired(0, 1, 5), waited(600, acquired(10, 102, 6))}, ""},
	{"two are granted in one turn", []Operation{acquired(0, 1, 5), waited(600, acquired(10, 52, 6)), waited(600, acquired(11, 53, 7)), released(40, 45, 5, true)}, noOrder},
	{"the lease of one that waited begins with its grant", []Operation{acquired(0, 1, 5), waited(600, acquired(10, 90, 6)), released(80, 85, 5, true), refused(150, 151)}, ""},
	{"refused while it is kept for another", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), waited(60, acquired(2, 30, 6)), refused(10, 11)}, ""},
	{"refused when nobody waits any more", []Operation{acquired(0, 1, 5), waited(60, refused(2, 62)), released(63, 64, 5, true), refused(70, 71)}, noOrder},
	{"refused while one waits whose client is gone", []Operation{acquired(0, 1, 5), undone(waited(60, refused(2, 10))), released(11, 12, 5, true), refused(50, 51)}, ""},
	{"refused when the wait of one is over whose client is gone", []Operation{acquired(0, 1, 5), undone(waited(60, refused(2, 10))), released(11, 12, 5, true), refused(63, 64)}, noOrder},

	// -- tokens --
	{"the same token again", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), acquired(4, 5, 5)}, noTokens},
	{"a smaller token", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), acquired(4, 5, 4)}, noOrder},
	{"a smaller token, however far apart", []Operation{acquired(0, 1, 5), acquired(200, 601, 9), acquired(800, 801, 3)}, "a smaller token"},
	{"a smaller token after a cut", []Operation{acquired(0, 1, 5), cut(released(2, 3, 5, true)), acquired(4, 5, 4)}, noOrder},

	// -- renew --
	{"renew lengthens", []Operation{acquired(0, 1, 5), renewed(50, 51, true), refused(140, 141), acquired(151, 152, 6)}, ""},
	{"renew that did nothing", []Operation{acquired(0, 1, 5), renewed(50, 51, true), acquired(110, 111, 6)}, noOrder},
	{"renew that shortened", []Operation{acquired(0, 1, 5), {Kind: Renew, TTL: millis(1), Token: 5, OK: true}, acquired(50, 51, 6)}, noOrder},
	{"renew that revives", []Operation{acquired(0, 1, 5), renewed(110, 111, true)}, noOrder},
	{"renew that revives what was said to be over", []Operation{acquired(0, 9, 5), renewed(101, 102, false), renewed(103, 104, true)}, noOrder},
	{"renew by a former holder", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), acquired(4, 5, 6), renewed(6, 7, true)}, noOrder},
	{"renew refused to the holder", []Operation{acquired(0, 1, 5), renewed(50, 51, false)}, noOrder},
	{"renew refused after the end", []Operation{acquired(0, 1, 5), renewed(102, 103, false)}, ""},

	// -- release --
	{"release twice", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), released(4, 5, 5, false)}, ""},
	{"release twice, both true", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), released(4, 5, 5, true)}, noOrder},
	{"release after the end is true", []Operation{acquired(0, 1, 5), released(110, 111, 5, true)}, noOrder},
	{"release frees the successor", []Operation{acquired(0, 1, 5), acquired(105, 106, 6), released(110, 111, 5, true)}, noOrder},
	{"release refused to the holder", []Operation{acquired(0, 1, 5), released(50, 51, 5, false)}, noOrder},

	// -- what nobody was told of a lock --
	{"an unknown acquire may hold", []Operation{unknown(acquired(0, 10, 0)), refused(20, 21)}, ""},
	{"an unknown acquire may be taken back", []Operation{unknown(acquired(0, 10, 0)), refused(20, 21), acquired(22, 23, 6)}, ""},
	{"an unknown acquire may not be applied", []Operation{unknown(acquired(0, 10, 0)), acquired(20, 21, 6)}, ""},
	{"an unknown acquire does not hold for ever", []Operation{unknown(acquired(0, 10, 0)), refused(113, 114)}, noOrder},
	{"an unknown acquire takes nothing from the holder", []Operation{acquired(0, 1, 5), unknown(acquired(10, 20, 0)), renewed(30, 31, false)}, noOrder},
	{"an unknown acquire cannot come after it returned", []Operation{unknown(acquired(0, 10, 0)), acquired(11, 12, 6), released(13, 14, 6, true), refused(15, 16)}, noOrder},
	{"an unknown release", []Operation{acquired(0, 1, 5), unknown(released(10, 20, 5, false)), refused(30, 31)}, ""},
	{"an unknown release that was applied", []Operation{acquired(0, 1, 5), unknown(released(10, 20, 5, false)), acquired(30, 31, 6)}, ""},
	{"an unknown release cannot be both", []Operation{acquired(0, 1, 5), unknown(released(10, 20, 5, false)), acquired(30, 31, 6), released(32, 33, 6, true), renewed(34, 35, true)}, noOrder},
	{"an unknown renewal may lengthen", []Operation{acquired(0, 1, 5), unknown(renewed(50, 51, false)), refused(140, 141)}, ""},
	{"an unknown renewal may do nothing", []Operation{acquired(0, 1, 5), unknown(renewed(50, 51, false)), acquired(110, 111, 6)}, ""},
	{"an unknown renewal does not revive", []Operation{acquired(0, 1, 5), unknown(renewed(110, 120, false)), refused(130, 131)}, noOrder},
	{"an undone acquire shows while it runs", []Operation{undone(acquired(0, 30, 0)), refused(10, 11), acquired(40, 41, 6)}, ""},
	{"an undone acquire leaves no trace", []Operation{undone(acquired(0, 30, 0)), refused(40, 41)}, noOrder},
	{"an acquire that took longer than its lease may have been granted before", []Operation{acquired(0, 130, 6), refused(50, 51)}, ""},
	{"an unknown acquire that took longer may have been granted twice", []Operation{unknown(acquired(0, 500, 0)), refused(50, 51), acquired(160, 161, 5), released(170, 171, 5, true), refused(300, 301)}, ""},
	{"an unknown acquire that took no longer was granted once", []Operation{unknown(acquired(0, 99, 0)), refused(10, 11), acquired(60, 120, 5), released(121, 122, 5, true), refused(123, 124)}, noOrder},
	{"an acquire is not refused because of its own first try", []Operation{refused(0, 130)}, noOrder},
	{"an acquire of two tries leaves no trace of the first", []Operation{acquired(0, 130, 6), released(131, 132, 6, true), refused(133, 134)}, noOrder},
	{"an acquire that took no longer", []Operation{acquired(0, 90, 6), refused(10, 11), acquired(20, 21, 5)}, noOrder},
	{"an undone release", []Operation{acquired(0, 1, 5), undone(released(10, 20, 5, false)), acquired(30, 31, 6)}, noOrder},

	// -- a store that lost leases, as some promises allow --
	{"a lost lease", []Operation{acquired(0, 1, 5), loss(), acquired(30, 31, 6)}, ""},
	{"a loss keeps the tokens rising", []Operation{acquired(0, 1, 5), loss(), acquired(30, 31, 4)}, noOrder},
	{"a loss does not bring a holder back after another", []Operation{acquired(0, 1, 5), loss(), acquired(30, 31, 6), renewed(40, 41, true)}, noOrder},
	{"a call refused because of a loss was not made", []Operation{claimed(0, 1, 4, 6), refusedForLoss(claimed(2, 9, 3, 0)), claimed(3, 4, 1, 5)}, ""},
	{"a call refused because of a loss had no effect", []Operation{claimed(0, 1, 4, 6), refusedForLoss(claimed(2, 9, 3, 0)), claimed(3, 4, 1, 2)}, noOrder},
	{"a loss may bring an old lease back", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), loss(), refused(30, 31)}, ""},
	{"a loss may undo a release", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), loss(), renewed(30, 31, true), renewed(40, 41, true), released(42, 43, 5, true)}, ""},
	{"a loss may undo a release, and another's grant with it", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), acquired(4, 5, 6), loss(), released(30, 31, 6, false), renewed(40, 41, true)}, ""},
	{"a loss brings one lease back", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), acquired(4, 5, 6), loss(), released(30, 31, 6, true), renewed(40, 41, true)}, noOrder},
	{"a loss brings no lease back that was never granted", []Operation{acquired(0, 1, 4), released(2, 3, 4, true), loss(), renewed(40, 41, true)}, noOrder},
	{"what a loss brought back does not hold for ever", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), loss(), renewed(123, 124, true)}, noOrder},
	{"an unknown renewal of what a loss brought back", []Operation{acquired(0, 1, 5), released(2, 3, 5, true), loss(), unknown(renewed(30, 31, false)), refused(125, 126)}, ""},

	// -- pools --
	{"claims until it is sold out", []Operation{claimed(0, 1, 6, 4), soldOut(2, 3, 6, 4), claimed(4, 5, 4, 0), soldOut(6, 7, 1, 0)}, ""},
	{"a first claim of too many makes the pool", []Operation{soldOut(0, 1, 11, 10), claimed(2, 3, 1, 9)}, ""},
	{"an oversold pool", []Operation{claimed(0, 1, 10, 0), claimed(2, 3, 1, -1)}, noOrder},
	{"a unit sold twice", []Operation{claimed(0, 9, 1, 9), claimed(1, 8, 1, 9)}, noOrder},
	{"the same remaining twice", []Operation{claimed(0, 9, 1, 9), claimed(1, 8, 1, 9)}, "two claims were told"},
	{"the same remaining twice, with a restock between", []Operation{claimed(0, 1, 1, 9), claimed(2, 9, 1, 9), restocked(3, 4, 1, 10)}, ""},
	{"refused with enough left", []Operation{claimed(0, 1, 1, 9), soldOut(2, 3, 5, 9)}, noOrder},
	{"claimed part of it", []Operation{claimed(0, 1, 8, 2), claimed(2, 3, 5, 0)}, noOrder},
	{"a lost unit", []Operation{claimed(0, 1, 1, 9), claimed(2, 3, 1, 7)}, noOrder},
	{"a claim that was forgotten", []Operation{claimed(0, 1, 1, 9), soldOut(2, 3, 99, 10)}, noOrder},
	{"restock", []Operation{claimed(0, 1, 3, 7), restocked(2, 3, 2, 9), claimed(4, 5, 9, 0)}, ""},
	{"restock twice for one", []Operation{claimed(0, 1, 3, 7), restocked(2, 3, 2, 11)}, noOrder},
	{"restock of no pool", []Operation{restocked(0, 1, 2, 2)}, noOrder},
	{"concurrent claims in another order than their calls", []Operation{claimed(0, 9, 1, 8), claimed(1, 8, 1, 9)}, ""},
	{"claims in an order that their times exclude", []Operation{claimed(0, 1, 1, 8), claimed(2, 3, 1, 9)}, noOrder},

	// -- what nobody was told of a pool --
	{"an unknown claim may be applied", []Operation{unknown(claimed(0, 1, 3, 0)), claimed(2, 3, 1, 6)}, ""},
	{"an unknown claim may not be applied", []Operation{unknown(claimed(0, 1, 3, 0)), claimed(2, 3, 1, 9)}, ""},
	{"an unknown claim is not applied by half", []Operation{unknown(claimed(0, 1, 3, 0)), claimed(2, 3, 1, 7)}, noOrder},
	{"an unknown claim is not applied twice", []Operation{unknown(claimed(0, 1, 3, 0)), claimed(2, 3, 1, 3)}, noOrder},
	{"an unknown claim is applied until it returns, not later", []Operation{unknown(claimed(0, 5, 3, 0)), claimed(6, 7, 1, 9), claimed(8, 9, 1, 5)}, noOrder},
	{"an unknown claim that runs is applied between others", []Operation{unknown(claimed(0, 8, 3, 0)), claimed(1, 2, 1, 9), claimed(9, 10, 1, 5)}, ""},
	{"an unknown claim that is not refused for lack of units", []Operation{claimed(0, 1, 8, 2), unknown(claimed(2, 3, 3, 0)), soldOut(4, 5, 5, -1)}, noOrder},
	{"an unknown claim may be taken back", []Operation{unknown(claimed(0, 9, 3, 0)), claimed(1, 2, 1, 6), claimed(3, 4, 1, 8)}, ""},
	{"an unknown claim is taken back until it returns, not later", []Operation{unknown(claimed(0, 3, 3, 0)), claimed(4, 5, 1, 6), claimed(6, 7, 1, 8)}, noOrder},
	{"an unknown claim is taken back once", []Operation{unknown(claimed(0, 9, 3, 0)), claimed(1, 2, 1, 6), claimed(3, 4, 1, 11)}, noOrder},
	{"an unknown claim is not taken back before it is made", []Operation{unknown(claimed(0, 9, 3, 0)), claimed(1, 2, 1, 12)}, noOrder},
	{"an unknown restock", []Operation{claimed(0, 1, 5, 5), unknown(restocked(2, 9, 3, 0)), claimed(3, 4, 1, 7)}, ""},
	{"an unknown restock is not taken back", []Operation{claimed(0, 1, 5, 5), unknown(restocked(2, 9, 3, 0)), claimed(3, 4, 1, 7), claimed(5, 6, 1, 3)}, noOrder},
	{"an undone restock never shows", []Operation{claimed(0, 1, 5, 5), undone(restocked(2, 9, 3, 0)), claimed(3, 4, 1, 7)}, noOrder},
	{"an undone claim shows while it runs", []Operation{undone(claimed(0, 9, 3, 0)), claimed(1, 2, 1, 6), claimed(10, 11, 1, 8)}, ""},
	{"an undone claim leaves no trace", []Operation{undone(claimed(0, 9, 3, 0)), claimed(10, 11, 1, 6)}, noOrder},
	{"an undone claim is given back once", []Operation{undone(claimed(0, 9, 3, 0)), claimed(10, 11, 1, 12)}, noOrder},
	{"an undone claim of nothing gives nothing back", []Operation{claimed(0, 1, 8, 2), undone(claimed(2, 9, 3, 0)), soldOut(10, 11, 9, 5)}, noOrder},

	// -- over all windows --
	{"windows", []Operation{cut(soldOut(0, 1, 99, 10)), claimed(2, 3, 4, 6), cut(soldOut(4, 5, 99, 6)), restocked(6, 7, 4, 10), cut(soldOut(8, 9, 99, 10))}, ""},
	{"a unit lost between windows", []Operation{cut(soldOut(0, 1, 99, 10)), claimed(2, 3, 4, 6), cut(soldOut(4, 5, 99, 6)), cut(soldOut(8, 9, 99, 5))}, noOrder},
	{"units lost, told by the sums alone", []Operation{cut(soldOut(0, 1, 99, 10)), claimed(2, 3, 4, 6), cut(soldOut(4, 5, 99, 5))}, "units made or lost"},
	{"units made, told by the sums alone", []Operation{cut(soldOut(0, 1, 99, 10)), unknown(claimed(2, 3, 4, 0)), cut(soldOut(4, 5, 99, 11))}, "units made or lost"},
	{"a cut that is none", []Operation{claimed(0, 9, 1, 9), cut(soldOut(5, 6, 99, 9))}, "not recorded well"},
}

func TestHistories(t *testing.T) {
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			for i := range h.history { // as at() does, for what is written out
				o := &h.history[i]
				if o.Name == "" {
					*o = at(48, 49, *o)
				}
			}
			found := Check(h.history, rules)
			for _, v := range found {
				if h.want == "" || strings.Contains(v.Rule, h.want) {
					if h.want == "" {
						t.Errorf("refused: %v", v)
					}
					return
				}
			}
			if h.want != "" {
				t.Errorf("want %q broken, found %v", h.want, found)
			}
		})
	}
}

// Keys and pools of one name, and one name in two scopes, have nothing to do with one another.
func TestPartitionsAreApart(t *testing.T) {
	other := acquired(10, 11, 5)
	other.Scope.Branch = "feature"
	if found := Check([]Operation{acquired(0, 1, 5), other, claimed(2, 3, 1, 9)}, rules); len(found) != 0 {
		t.Errorf("refused: %v", found)
	}
	other = acquired(10, 11, 6)
	if found := Check([]Operation{acquired(0, 1, 5), other}, rules); len(found) == 0 {
		t.Error("accepted in one partition")
	}
}

// A search without an end shows nothing, so it is a failure.
func TestUndecidedIsAViolation(t *testing.T) {
	var h []Operation
	for i := range 40 {
		h = append(h, unknown(claimed(0, 100, int64(1)<<i, 0)))
	}
	h = append(h, soldOut(0, 100, 1<<50, 1<<45))
	found := Check(h, Rules{Patience: time.Millisecond})
	if len(found) != 1 || !strings.Contains(found[0].Rule, "none excluded") {
		t.Errorf("found %v", found)
	}
}

// A window has few calls of unknown outcome, or the search would have no end.
func TestTooManyUnanswered(t *testing.T) {
	var h []Operation
	for range maxTakenBack + 1 {
		h = append(h, unknown(claimed(0, 1, 1, 0)))
	}
	found := Check(h, rules)
	if len(found) != 1 || !strings.Contains(found[0].Rule, "more than 64 claims") {
		t.Errorf("found %v", found)
	}
}

func TestCensus(t *testing.T) {
	h := []Operation{
		acquired(0, 1, 5), refused(2, 3), acquired(110, 111, 6), released(112, 113, 6, true), unknown(acquired(114, 115, 0)),
		acquired(300, 301, 7), waited(60, acquired(302, 312, 8)), released(310, 311, 7, true), waited(5, refused(313, 318)),
		claimed(0, 1, 10, 0), soldOut(2, 3, 1, 0), restocked(4, 5, 1, 1), undone(claimed(6, 7, 1, 0)), cut(soldOut(8, 9, 99, 1)),
	}
	got := Count(h)
	want := Census{Calls: 13, Unknown: 1, Undone: 1, Contended: 1, Grants: 4, HandedOn: 1, InVain: 1, Expired: 1, Claims: 1, SoldOut: 1, Restocks: 1, Codes: map[string]int{}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the census is\n%+v, want\n%+v", got, want)
	}
	if missing := got.Vacuous(Wants{Unknown: true}); missing != "" {
		t.Errorf("missing: %s", missing)
	}
	if missing := got.Vacuous(Wants{Loss: true}); missing != "no call refused because of a loss" {
		t.Errorf("missing: %s", missing)
	}
	got = Count(h[:2])
	if missing := got.Vacuous(Wants{Unknown: true}); missing != "no outcome that nobody was told, no lock handed on to a call in line, no wait in vain, no lease that ended by time, no claim, no sold-out pool, no restock" {
		t.Errorf("missing: %s", missing)
	}
}
