package drive

import (
	"sync"
	"sync/atomic"
)

// workers are goroutines for short jobs. They are kept for a next job, since what a new one
// costs most is the growth of its stack.
type workers struct {
	jobs chan func()
	idle atomic.Int32
	all  sync.WaitGroup
}

// maxIdleWorkers bounds how many wait for a job.
const maxIdleWorkers = 64

// do has a job done, by a waiting worker or by a new one. It does not wait for it.
func (w *workers) do(job func()) {
	select {
	case w.jobs <- job:
	default:
		w.all.Go(func() { w.work(job) })
	}
}

func (w *workers) work(job func()) {
	for {
		job()
		if w.idle.Add(1) > maxIdleWorkers {
			w.idle.Add(-1)
			return
		}
		next, ok := <-w.jobs
		w.idle.Add(-1)
		if !ok {
			return
		}
		job = next
	}
}

// stop ends the workers and waits for them. Nothing may be asked of them any more.
func (w *workers) stop() {
	close(w.jobs)
	w.all.Wait()
}
