package bench

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// heapObjects is the memory of objects that are in use or not yet collected.
const heapObjects = "/memory/classes/heap/objects:bytes"

// Peak runs f and returns the most heap, in bytes, that was taken at any time meanwhile
// beyond what was in use before, garbage included. It looks often, not always: a peak of
// less than a millisecond may be missed. What else the process does counts in.
func Peak(f func() error) (int64, error) {
	runtime.GC()
	runtime.GC() // a pool survives one
	before := heap()
	over, peak := make(chan struct{}), make(chan uint64)
	go func() { peak <- watch(over) }()
	err := f()
	close(over)
	return int64(max(<-peak, before) - before), err
}

// watch returns the most heap until over is closed.
func watch(over <-chan struct{}) (most uint64) {
	ticker := time.NewTicker(200 * time.Microsecond)
	defer ticker.Stop()
	for {
		most = max(most, heap())
		select {
		case <-ticker.C:
		case <-over:
			return max(most, heap())
		}
	}
}

func heap() uint64 {
	sample := [1]metrics.Sample{{Name: heapObjects}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// Allocations runs f, which makes n calls, and returns how many objects and bytes each
// of them took from the heap, whoever in the process did.
func Allocations(n int, f func() error) (objects, bytes float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = f()
	runtime.ReadMemStats(&after)
	objects = float64(after.Mallocs-before.Mallocs) / float64(n)
	return objects, float64(after.TotalAlloc-before.TotalAlloc) / float64(n), err
}
