package connect

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPeersThatBehaveAreForgotten(t *testing.T) {
	p, now := penalties{first: time.Second}, time.Now()
	for round := range 10 {
		for i := range fewPenalties {
			p.punish(PeerID(fmt.Sprint(round, i)), now)
		}
		assert.True(t, p.keepsOut(PeerID(fmt.Sprint(round, 0)), now))
		now = now.Add(time.Hour)
	}
	assert.LessOrEqual(t, len(p.peers), 2*fewPenalties)
	p.punish("peer", now)
	p.punish("peer", now)
	assert.True(t, p.keepsOut("peer", now.Add(2*time.Second-1)), "the second is twice as long")
	assert.False(t, p.keepsOut("peer", now.Add(2*time.Second)))
}

func TestAPenaltyIsNeverShorterThanTheFirst(t *testing.T) {
	p, now := penalties{first: 10 * time.Minute}, time.Now()
	for range 3 {
		p.punish("peer", now)
		now = now.Add(10*time.Minute - 1)
		assert.True(t, p.keepsOut("peer", now))
	}
}
