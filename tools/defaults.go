package tools

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/spoke-peer/spoke-go/internal/wirejson"
	"github.com/spoke-peer/spoke-go/manifest"
)

// memberDefault is the value of a member that the arguments leave out.
type memberDefault struct {
	index []int
	value json.RawMessage
	inner *wirejson.Defaults // for what the value itself leaves out
}

// newMemberDefault checks that the default is a value of the member. Its own defaults
// are those that are known when its type is.
func (x *inference) newMemberDefault(s *jsonschema.Schema, m member, path string) (memberDefault, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return memberDefault{}, failAt(path, "%v", err)
	}
	compiled, err := manifest.Compile(text, manifest.Own)
	if err != nil {
		return memberDefault{}, failAt(path, "%v", err)
	}
	if problems := compiled.Validate(s.Default); len(problems) > 0 {
		return memberDefault{}, failAt(path, "the tag default: %s", problems[0])
	}
	inner := newDefaults(maps.Clone(x.defaults))
	if err := wirejson.Into(s.Default, reflect.New(m.field.Type).Interface(), inner); err != nil {
		return memberDefault{}, failAt(path, "the tag default is no %v", m.field.Type)
	}
	return memberDefault{index: m.index, value: bytes.Clone(s.Default), inner: inner}, nil
}

// newDefaults sets the defaults of every struct that is decoded, wherever in the
// arguments it stands. Nil when there are none.
func newDefaults(byType map[reflect.Type][]memberDefault) *wirejson.Defaults {
	if len(byType) == 0 {
		return nil
	}
	return wirejson.NewDefaults(func(pointer any) {
		v := reflect.ValueOf(pointer).Elem()
		v.SetZero() // only its default can stand there, and it is given
		for _, d := range byType[v.Type()] {
			d.set(v)
		}
	})
}

// set decodes the default anew, so that no two arguments share memory.
func (d memberDefault) set(v reflect.Value) {
	for i, n := range d.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	// It was decoded into this type before.
	_ = wirejson.Into(d.value, v.Addr().Interface(), d.inner)
}
