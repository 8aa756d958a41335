package meta

import "slices"

// DropBy is the standard property that tags records by what they may be dropped together with, as Kusto's drop-by tags do. A shard may
// have several.
const DropBy = "drop-by"

// DropByTags are the different values of DropBy in a bag, sorted; of those that are not strings, their bytes as they are stored.
func (b Properties) DropByTags() []string {
	var tags []string
	for _, p := range b {
		if p.GetName() != DropBy {
			continue
		}
		text, ok := TextOf(p.GetValue())
		if !ok {
			text = string(Marshal(p.GetValue()))
		}
		tags = append(tags, text)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}
