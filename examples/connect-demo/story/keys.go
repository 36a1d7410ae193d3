package story

import (
	"bytes"

	"github.com/spoke-peer/spoke-go/connect"
)

// The keys of the demo are known to everybody. Never use them for anything else: a
// program of your own calls connect.LoadIdentity.
const (
	hostSeed = 0x51
	appSeed  = 0x63
)

// HostIdentity returns the demo host's key pair.
func HostIdentity() (*connect.Identity, error) { return demoIdentity(hostSeed) }

// AppIdentity returns the demo app's key pair.
func AppIdentity() (*connect.Identity, error) { return demoIdentity(appSeed) }

func demoIdentity(seed byte) (*connect.Identity, error) {
	return connect.IdentityFromSeed(bytes.Repeat([]byte{seed}, 32))
}

// Ids of what the two tell each other about.
const (
	CompassID  = "demo-harbor/item/compass"
	DiceRollID = "demo-harbor/artifact/dice-roll"
	FindingID  = "demo-harbor/finding/compass-uncased"
)
