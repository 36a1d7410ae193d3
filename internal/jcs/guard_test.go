package jcs

import (
	"testing"

	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// What the guards hold, as speeds by that of something else in the same run.
const (
	leastOfCheck         = 0.25 // of strict parsing, by the grammar's check alone
	leastOfCanonicalText = 1.5  // of text that is canonical, by text that has to be written anew
	leastOfLargeObject   = 0.25 // of an unsorted object of 512 KiB, by eight of 64 KiB
)

func TestGuardParsingIsNotFarFromTheGrammarAlone(t *testing.T) {
	benchtest.Guarded(t)
	for _, d := range documents()[:2] {
		t.Run(d.name, func(t *testing.T) {
			benchtest.AtLeast(t, leastOfCheck, func() (float64, error) {
				return bench.Compare(func() error { return Check(d.text, 0) }, grammar(d.text))
			})
		})
	}
}

func TestGuardCanonicalTextIsNotWrittenAnew(t *testing.T) {
	benchtest.Guarded(t)
	text := records(64 << 10)
	spaced := append([]byte(" "), text...)
	benchtest.AtLeast(t, leastOfCanonicalText, func() (float64, error) {
		return bench.Compare(canonical(text), canonical(spaced))
	})
}

func TestGuardALargeObjectIsSortedAsFastAsSmallOnes(t *testing.T) {
	benchtest.Guarded(t)
	large, small := canonical(unsorted(512<<10)), canonical(unsorted(64<<10))
	benchtest.AtLeast(t, leastOfLargeObject, func() (float64, error) {
		return bench.Compare(large, func() error {
			for range 8 {
				if err := small(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func canonical(text []byte) func() error {
	return func() error { _, err := Canonical(text); return err }
}
