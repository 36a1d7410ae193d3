package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// demo is one run: the session under way and where its steps are printed.
type demo struct {
	ctx  context.Context
	out  io.Writer
	n    int
	host *host
	app  *connect.RemoteAdapter // the app's side of the session
	peer *connect.Responder     // the host's side of it
}

func run(ctx context.Context, out io.Writer) error {
	appID, err := connect.GenerateIdentity()
	if err != nil {
		return err
	}
	bareID, err := connect.GenerateIdentity()
	if err != nil {
		return err
	}
	h, err := startHost(appID.PeerID(), bareID.PeerID())
	if err != nil {
		return err
	}
	defer h.close()
	d := &demo{ctx: ctx, out: out, host: h}
	if d.app, d.peer, err = dialApp(ctx, h, appID); err != nil {
		return err
	}
	defer d.app.Close()
	for _, step := range []func() error{
		d.verified, d.register, d.discover, d.playRound, d.loreFound, d.loreMissing,
		d.unlisted, func() error { return d.unserved(bareID) }, d.timeout, d.afterTimeout, d.stranger,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	d.app.Close()
	if err := d.app.Wait(); err != nil {
		return fmt.Errorf("the app's session: %w", err)
	}
	if err := d.peer.Wait(); !errors.Is(err, connect.ErrSessionClosed) {
		return fmt.Errorf("the host's session ended with %v", err)
	}
	_, err = fmt.Fprintln(out, "done: every step was as it should be")
	return err
}

// step prints what was observed and fails unless it is what was wanted.
func (d *demo) step(what, want, got string) error {
	d.n++
	fmt.Fprintf(d.out, "%2d. %s\n    %s\n", d.n, what, got)
	if got != want {
		return fmt.Errorf("step %d: observed %s, want %s", d.n, got, want)
	}
	return nil
}

func (d *demo) verified() error {
	fmt.Fprintf(d.out, "host listens on %s\n", d.host.url())
	fmt.Fprintf(d.out, "  host %s\n  app  %s\n", d.app.RemotePeerID(), d.peer.RemotePeerID())
	got := fmt.Sprintf("app knows the host: %t, host knows the app: %t, same session: %t",
		d.app.RemotePeerID() == d.peer.LocalPeerID(), d.peer.RemotePeerID() == d.app.LocalPeerID(), d.app.ID() == d.peer.ID())
	return d.step("both sides verified each other", "app knows the host: true, host knows the app: true, same session: true", got)
}

func (d *demo) register() error {
	handlers := toyworld.Tools()
	for _, id := range []string{toyworld.RollDiceID, toyworld.LoreLookupID} {
		if err := d.app.RegisterToolHandler(id, handlers[id]); err != nil {
			return err
		}
	}
	err := d.app.RegisterToolHandler("tools.Toy.World", handlers[toyworld.RollDiceID])
	return d.step("the app registers its two tools, and an id outside the grammar, which is refused",
		`INVALID_INPUT {"capability_id":"tools.Toy.World"}`, outcome(nil, err))
}

func (d *demo) discover() error {
	var ids []string
	for _, tool := range d.peer.RemoteTools() {
		ids = append(ids, tool.CapabilityID)
	}
	got := fmt.Sprintf("%d problems; %s", len(d.peer.RemoteManifestProblems()), strings.Join(ids, ", "))
	return d.step("the host validates the authenticated manifest and lists its tools",
		"0 problems; "+toyworld.RollDiceID+", "+toyworld.LoreLookupID, got)
}

func (d *demo) playRound() error {
	got, err := d.app.InvokeTool(d.ctx, playRound, nil)
	return d.step("the app invokes a tool of the host's; the host, serving it, rolls 2d6 on the app",
		`{"rolled":{"rolls":[1,2],"total":3}}`, outcome(got, err))
}

func (d *demo) loreFound() error {
	got, err := d.lookup(toyworld.LanternQuayID)
	var found struct {
		Entry struct {
			EntryID string `json:"entry_id"`
		} `json:"entry"`
	}
	if err == nil {
		err = json.Unmarshal(got, &found)
	}
	return d.step("the host looks up lore that the app has", "found "+toyworld.LanternQuayID, outcome(json.RawMessage("found "+found.Entry.EntryID), err))
}

func (d *demo) loreMissing() error {
	got, err := d.lookup("demo-harbor/item/nowhere")
	return d.step("the host looks up lore that the app does not have",
		`KNOWLEDGE_ENTRY_NOT_FOUND {"entry_id":"demo-harbor/item/nowhere"}`, outcome(got, err))
}

func (d *demo) lookup(entry string) (json.RawMessage, error) {
	return d.peer.InvokeTool(d.ctx, toyworld.LoreLookupID, map[string]string{"entry_id": entry})
}

const unsupported = `CAPABILITY_PORT_MISSING {"wire_code":"op_unsupported"}`

func (d *demo) unlisted() error {
	got, err := d.peer.InvokeTool(d.ctx, "tools.toy_world.summon_kraken", nil)
	return d.step("the host invokes a tool that the app's manifest does not list", unsupported, outcome(got, err))
}

// unserved dials a second app that lists its tools and registers no handler.
func (d *demo) unserved(id *connect.Identity) error {
	bare, peer, err := dialApp(d.ctx, d.host, id)
	if err != nil {
		return err
	}
	defer bare.Close()
	got, err := peer.InvokeTool(d.ctx, toyworld.RollDiceID, map[string]int{"count": 1})
	return d.step("the host invokes a listed tool that its app has no handler for", unsupported, outcome(got, err))
}

// timeout replaces a handler by one that outlives the invoke.
func (d *demo) timeout() error {
	slow := func(ctx context.Context, _ json.RawMessage) (any, error) {
		<-ctx.Done() // until the session ends
		return nil, ctx.Err()
	}
	if err := d.app.RegisterToolHandler(toyworld.LoreLookupID, slow); err != nil {
		return err
	}
	ctx := connect.WithInvokeTimeout(d.ctx, 50*time.Millisecond)
	got, err := d.peer.InvokeTool(ctx, toyworld.LoreLookupID, map[string]string{"entry_id": toyworld.LanternQuayID})
	return d.step("the host invokes a tool that takes longer than this invoke's 50ms", `INTERNAL_ERROR {"kind":"timeout"}`, outcome(got, err))
}

func (d *demo) afterTimeout() error {
	got, err := d.peer.InvokeTool(d.ctx, toyworld.RollDiceID, map[string]int{"count": 2, "sides": 6})
	return d.step("the next invoke on the same session", `{"rolls":[1,2],"total":3}`, outcome(got, err))
}

// stranger dials with a key that is not on the allowlist.
func (d *demo) stranger() error {
	id, err := connect.GenerateIdentity()
	if err != nil {
		return err
	}
	_, _, err = dialApp(d.ctx, d.host, id)
	refused, ok := errors.AsType[*connect.HandshakeError](err)
	if !ok {
		return fmt.Errorf("the stranger's handshake ended with %w", err)
	}
	return d.step("a stranger dials and is refused before any signature work",
		"handshake "+connect.CodePeerNotAllowed, fmt.Sprintf("%s %s", refused.Kind, refused.Code))
}

// outcome shows a result, or a reject as its code and details.
func outcome(value json.RawMessage, err error) string {
	if err == nil {
		return string(value)
	}
	reject, ok := errors.AsType[*spoke.Reject](err)
	if !ok {
		return err.Error()
	}
	details, err := json.Marshal(reject.Details)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s", reject.Code, details)
}
