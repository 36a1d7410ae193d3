package main

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/conformance/transcript"
	"github.com/spoke-peer/spoke-go/connect"
)

func TestOnlyWhatTakesLongIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var quick, late bytes.Buffer
		done := slow(&quick, "waiting")
		<-time.After(patience - time.Millisecond)
		done()
		<-time.After(time.Minute)
		assert.Empty(t, quick.String())
		done = slow(&late, "waiting")
		<-time.After(time.Minute)
		done()
		assert.Equal(t, "waiting ...\n", late.String())
	})
}

func TestNothingIsColouredThatIsNoTerminal(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "x", paint(&bytes.Buffer{}, red, "x"))
	file, err := os.CreateTemp(t.TempDir(), "")
	assert.NoError(t, err)
	defer file.Close()
	assert.Equal(t, "x", paint(file, red, "x"))
}

func TestTheVerdictOnAFrame(t *testing.T) {
	t.Parallel()
	for want, line := range map[string]transcript.Line{
		"-> hello: signature valid\n{}\n":          {Name: "hello", Signed: true},
		"-> hello: NOT VALID: forged\n{}\n":        {Name: "hello", Problem: "forged"},
		"-> challenge: carries no signature\n{}\n": {Name: "challenge", Unsigned: true},
		"-> challenge: NOT VALID: a second\n{}\n":  {Name: "challenge", Problem: "a second"},
	} {
		var shown bytes.Buffer
		wirePrinter(&shown)(wiretap.Frame{Line: line, Out: true, Text: []byte("{}")})
		assert.Equal(t, want, shown.String())
	}
}

func TestEveryPortThatTheShellCompletesExists(t *testing.T) {
	t.Parallel()
	for _, op := range connect.PortOps() {
		_, ok := connect.PortCapability(op)
		assert.True(t, ok, op)
	}
}
