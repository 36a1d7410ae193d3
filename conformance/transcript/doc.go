// Package transcript records the frames of a session and judges a record.
//
// A transcript is a text of one JSON object per line, an [Entry] each, in the order in
// which the frames passed. [Relay] makes one between two peers; [Replay] verifies the
// signature of every envelope in it and, for the peers whose keys are known, signs each
// envelope again and shows the first byte that differs.
package transcript
