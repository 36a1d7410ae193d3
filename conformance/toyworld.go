package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// toyManifests are the manifests of the toy world's demo peers.
func toyManifests() []spoke.HostCapabilityManifest {
	return []spoke.HostCapabilityManifest{toyworld.AppManifest(), toyworld.HostManifest()}
}

type descriptorCase struct {
	CapabilityID string   `json:"capability_id"`
	JCS          hexBytes `json:"jcs_hex"`
}

// checkToyDescriptor matches the descriptor of a tool in both manifests.
func checkToyDescriptor(_ context.Context, c descriptorCase) error {
	for _, m := range toyManifests() {
		i := slices.IndexFunc(m.Tools, func(d spoke.ToolDescriptor) bool { return d.CapabilityID == c.CapabilityID })
		if i < 0 {
			return fmt.Errorf("%s offers no %s", m.HostID, c.CapabilityID)
		}
		if err := sameJSON("descriptor", json.RawMessage(c.JCS), m.Tools[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkToyHello matches the manifest of the demo peer and signs its hello. The vector's
// capabilities begin with the manifest's; a peer adds those of the ports it serves.
func checkToyHello(ctx context.Context, c helloSignCase) error {
	var want spoke.HostCapabilityManifest
	if err := json.Unmarshal(c.Host, &want); err != nil {
		return err
	}
	manifests := toyManifests()
	i := slices.IndexFunc(manifests, func(m spoke.HostCapabilityManifest) bool { return m.HostID == want.HostID })
	if i < 0 {
		return fmt.Errorf("the toy world has no %s", want.HostID)
	}
	mine := manifests[i]
	if n := len(mine.Capabilities); n <= len(want.Capabilities) && slices.Equal(mine.Capabilities, want.Capabilities[:n]) {
		mine.Capabilities = want.Capabilities
	}
	if err := sameJSON("manifest", want, mine); err != nil {
		return err
	}
	return checkHelloSign(ctx, c)
}
