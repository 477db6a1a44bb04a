package planner

import (
	"fmt"
	"testing"

	"raisinproxy/planner/plan"
)

// BenchmarkPlanLookup finds the plan of a text that was planned before.
func BenchmarkPlanLookup(b *testing.B) {
	p, o := New(Config{CacheBytes: 1 << 20}), plan.Options{Prepared: true}
	const text = "SELECT token FROM raisin_lock_acquire($1, $2)"
	p.Plan(standard(text), o)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.Cached(standard(text), o); !ok {
			b.Fatal("not in the cache")
		}
	}
}

// BenchmarkPlan plans a text that was not planned before.
func BenchmarkPlan(b *testing.B) {
	p, o := New(Config{CacheBytes: 1 << 20}), plan.Options{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		text := standard(fmt.Sprintf("SELECT token AS t%d FROM raisin_lock_acquire('seat:14A', 60000)", i))
		if _, ok := p.Cached(text, o); ok {
			b.Fatal("in the cache")
		}
		if script := p.Plan(text, o); script.Err != nil {
			b.Fatal(script.Err)
		}
	}
}

// BenchmarkPlanShape finds the plan of a text that differs from those before in the
// literals of its call.
func BenchmarkPlanShape(b *testing.B) {
	p, o := New(Config{CacheBytes: 1 << 20}), plan.Options{}
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("SELECT token FROM raisin_lock_acquire('seat:%d', 60000)", i)
	}
	p.Plan(standard(texts[0]), o)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		text := standard(texts[i%len(texts)])
		if _, ok := p.Cached(text, o); !ok {
			b.Fatal("not in the cache")
		}
		text.Release()
	}
}
