package planner

import (
	"fmt"
	"testing"
)

// BenchmarkPlanLookup finds the plan of a text that was planned before.
func BenchmarkPlanLookup(b *testing.B) {
	p, o := New(Config{CacheBytes: 1 << 20}), Options{Standard: true}
	const text = "SELECT token FROM raisin_lock_acquire('seat:14A', 60000)"
	p.Plan(text, o)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.Cached(text, o); !ok {
			b.Fatal("not in the cache")
		}
	}
}

// BenchmarkPlan plans a text that was not planned before.
func BenchmarkPlan(b *testing.B) {
	p, o := New(Config{CacheBytes: 1 << 20}), Options{Standard: true}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		text := fmt.Sprintf("SELECT token FROM raisin_lock_acquire('seat:%d', 60000)", i)
		if _, ok := p.Cached(text, o); ok {
			b.Fatal("in the cache")
		}
		if script := p.Plan(text, o); script.Err != nil {
			b.Fatal(script.Err)
		}
	}
}
