// Package textindex reads and writes inverted text indexes: which records hold a term.
//
// An index is two artifacts, shards of their own. The terms shard is a tree of pages, one page a record; the positions
// shard is one long column of numbers, in which the lists of all terms lie one behind the other.
//
//	terms      leaf | leaf | … | level 1 | leaf | … | level 1 | root       children before parents, leaves in term order
//	  page     level, entries, pos_list_start_offset
//	  leaf     entry: term, for each stripe and field the kind of its list and where it ends in positions
//	  others   entry: the greatest term below a page, and the record number of that page
//	positions  p p p | start end start end | p | …
//
// A list has three forms: single positions; exact ranges [start, end), all of which hold the term; approximate ranges,
// which may. What is in no list does not hold the term. Positions count records from the start of the shard, or, where
// the descriptor has the property position_base=stripe, from the start of the stripe that it belongs to.
//
// Builder makes an index, Open and Index.Lookup ask one. Source: docs/format/indexes.md.
package textindex
