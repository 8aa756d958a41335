package main

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/shardcat/shardcat/shardfmt/index"
)

// layerJSON is the answer of a layer index: the question and the positions of all records whose keys match.
type layerJSON struct {
	Absent    bool            `json:"absent,omitempty"`
	From      json.RawMessage `json:"from,omitempty"`
	Key       json.RawMessage `json:"key,omitempty"`
	Positions []uint64        `json:"positions"`
	To        json.RawMessage `json:"to,omitempty"`
}

// layerAnswers are those of a layer index.
type layerAnswers struct{ x *index.Layer }

func (l layerAnswers) ask(ctx context.Context, k indexKey) (any, error) {
	if k.Key == nil && k.From == nil && k.To == nil {
		return nil, nil
	}
	keys, err := l.keys(k)
	if err != nil {
		return nil, err
	}
	rows, _, err := l.x.Rows(ctx, []index.Keys{keys}, math.MaxUint64, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	out := layerJSON{Key: k.Key, From: k.From, To: k.To, Positions: []uint64{}}
	for _, r := range rows {
		for p := r.Start; p < r.End; p++ {
			out.Positions = append(out.Positions, p)
		}
	}
	out.Absent = len(out.Positions) == 0
	return out, nil
}

func (l layerAnswers) keys(k indexKey) (keys index.Keys, err error) {
	if k.Key != nil {
		keys.Low, err = l.bytes(k.Key)
		keys.High = keys.Low
		return keys, err
	}
	if k.From != nil {
		keys.Low, err = l.bytes(k.From)
	}
	if err == nil && k.To != nil {
		keys.High, err = l.bytes(k.To)
	}
	return keys, err
}

// bytes is a key as it was typed in the bytes that sort as it does.
func (l layerAnswers) bytes(text json.RawMessage) ([]byte, error) {
	key := make([]byte, 0, 8)
	var err error
	switch l.x.Form() {
	case index.Signed:
		var v int64
		if v, err = strconv.ParseInt(string(text), 10, 64); err == nil {
			return index.AppendSigned(key, v), nil
		}
	case index.Unsigned:
		var v uint64
		if v, err = strconv.ParseUint(string(text), 10, 64); err == nil {
			return index.AppendUnsigned(key, v), nil
		}
	case index.Float:
		var v float64
		if err = json.Unmarshal(text, &v); err == nil {
			return index.AppendFloat(key, v), nil
		}
	default:
		var v string
		if err = json.Unmarshal(text, &v); err == nil {
			return append(key, v...), nil
		}
	}
	return nil, usagef("%s is not a key of an index of type %s", text, l.x.Types())
}
