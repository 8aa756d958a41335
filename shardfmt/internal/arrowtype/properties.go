package arrowtype

import (
	"encoding/json"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// propertiesOf are the properties of a label that came by Arrow: those that a shard gave it, or the bytes
// of Arrow's extension metadata as the only one.
func propertiesOf(data string, meta arrow.Metadata) []schema.ExtensionProperty {
	if text, ok := meta.GetValue(metaProperties); ok {
		var m map[string]property
		if json.Unmarshal([]byte(text), &m) == nil {
			return sorted(m)
		}
	}
	if data == "" {
		return nil
	}
	return []schema.ExtensionProperty{{Name: metaExtensionData, Kind: schema.PropertyString, Data: []byte(data)}}
}

// property is an extension property as JSON.
type property struct {
	Kind schema.PropertyKind `json:"kind"`
	Data []byte              `json:"data"`
}

func sorted(m map[string]property) []schema.ExtensionProperty {
	var out []schema.ExtensionProperty
	for name, p := range m {
		out = append(out, schema.ExtensionProperty{Name: name, Kind: p.Kind, Data: p.Data})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// extensionMetadata is the Arrow metadata that carries a label, the inverse of propertiesOf.
func extensionMetadata(e *schema.Extension) arrow.Metadata {
	keys, values := []string{metaExtension}, []string{e.Label}
	m := map[string]property{}
	for _, p := range e.Properties {
		if p.Name == metaExtensionData && p.Kind == schema.PropertyString {
			keys, values = append(keys, metaExtensionData), append(values, string(p.Data))
			continue
		}
		m[p.Name] = property{p.Kind, p.Data}
	}
	if len(m) > 0 {
		text, _ := json.Marshal(m) // bytes and numbers always marshal
		keys, values = append(keys, metaProperties), append(values, string(text))
	}
	return arrow.NewMetadata(keys, values)
}
