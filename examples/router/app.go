package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

const shoutID = "tools.text.shout"

// shout answers with the text in capitals.
func shout(_ context.Context, args json.RawMessage) (any, error) {
	var in struct{ Text string }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return strings.ToUpper(in.Text), nil
}

// tools are the tools of all apps, with their handlers.
func tools() ([]spoke.ToolDescriptor, spoke.ToolHandlers) {
	descriptors := append(toyworld.AppManifest().Tools, spoke.ToolDescriptor{
		SchemaVersion: spoke.SchemaVersion, CapabilityID: shoutID, Op: shoutID, Description: "Say it louder.",
		Input: json.RawMessage(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`),
	})
	handlers := spoke.ToolHandlers{shoutID: shout}
	for id, handler := range toyworld.Tools() {
		handlers[id] = handler
	}
	return descriptors, handlers
}

// runApp offers one tool to the host until the session ends.
func runApp(ctx context.Context, tool, keyFile, url, host string) error {
	id, err := connect.LoadIdentity(keyFile, nil)
	if err != nil {
		return err
	}
	m, err := appManifest(tool)
	if err != nil {
		return err
	}
	_, handlers := tools()
	transport, err := ws.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	app, err := connect.Dial(ctx, transport, connect.DialConfig{
		Config: connect.Config{Identity: id, Manifest: m, Allow: []connect.PeerID{connect.PeerID(host)}, Tools: handlers},
		Remote: connect.PeerID(host),
	})
	if err != nil {
		return err
	}
	if err := app.Wait(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// appManifest lists the one tool.
func appManifest(tool string) (spoke.HostCapabilityManifest, error) {
	descriptors, _ := tools()
	for _, d := range descriptors {
		if d.CapabilityID != tool {
			continue
		}
		return spoke.HostCapabilityManifest{
			SchemaVersion: spoke.SchemaVersion,
			HostID:        "app with " + tool,
			Roles:         []string{"input-source"},
			Capabilities:  []string{connect.CapabilityBaseline, tool},
			Namespaces:    []string{strings.Split(tool, ".")[1]},
			Tools:         []spoke.ToolDescriptor{d},
		}, nil
	}
	return spoke.HostCapabilityManifest{}, fmt.Errorf("no tool %s", tool)
}
