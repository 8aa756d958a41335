package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
	"github.com/shardcat/shardcat/urlresolve"
)

// AdoptedProperty is the table property that lists, as a JSON array, the folders outside the vault whose shards
// are part of the table. They are read and marked, never swept.
const AdoptedProperty = "shardcat.adopted"

// adoptedNamesProperty is the table property that keeps by which names adopted shards know columns that have others by now, see
// manifest.AdoptedNames.
const adoptedNamesProperty = "shardcat.adopted-names"

// Adopted lists the adopted folders, each with a trailing slash.
func (t *Table) Adopted() ([]string, error) { return parseAdopted(t.Properties()[AdoptedProperty]) }

func parseAdopted(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var folders []string
	if err := json.Unmarshal([]byte(text), &folders); err != nil {
		return nil, fmt.Errorf("table property %s: %w", AdoptedProperty, err)
	}
	return folders, nil
}

// Allowed is where the table's shards and what they refer to may lie: its vault folder and the adopted ones.
func (t *Table) Allowed() ([]urlresolve.Prefix, error) {
	if err := t.checkVault(); err != nil {
		return nil, err
	}
	folders, err := t.Adopted()
	if err != nil {
		return nil, err
	}
	return prefixes(append(folders, t.VaultFolder()))
}

func prefixes(folders []string) ([]urlresolve.Prefix, error) {
	var out []urlresolve.Prefix
	for _, f := range folders {
		p, err := urlresolve.ParsePrefix(strings.TrimSuffix(f, "/"))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// RegisterOptions of Register.
type RegisterOptions struct {
	// JobID names the delivery, see BeginJob.
	JobID string
	// Read selects the shards whose data is read before they become part of the table: by default of small ones.
	// Metadata that promises more work or memory than the shard's bytes bear is refused in any case (verify.Admit).
	Read verify.ReadData
	// Allow are folders besides the shards' own that they refer to, as after a merge that allowed it. They become adopted
	// with them.
	Allow []urlresolve.Prefix
	// Copy takes copies into the table's vault folder, which belong to the table as what it wrote itself; no folder is
	// adopted.
	Copy bool
	// Progress, if not nil, is called after each shard that was looked at. Calls may be concurrent.
	Progress func()
}

// RegisterResult is what Register added.
type RegisterResult struct {
	*CommitResult
	Shards  []string `json:"shards"`
	Records int64    `json:"records"`
	// Unread are the columns of the shards that the table lacks, by their paths: their values are not read, and neither are they if the table gets a column of
	// that name.
	Unread []string `json:"unread_columns,omitempty"`
}

// add counts a shard.
func (r *RegisterResult) add(d *described) {
	r.Shards, r.Records = append(r.Shards, d.entry.Path), r.Records+d.entry.Records
	for _, column := range d.unread {
		if !slices.Contains(r.Unread, column) {
			r.Unread = append(r.Unread, column)
		}
	}
}

// Register makes existing shards part of the table, where they lie. Their folders become adopted: read, and
// never swept. Fields are matched by the ids the shard carries, else by name; the shard's other objects must lie
// in its root's folder or in an adopted one. A shard that could not be read, or only at a cost out of proportion, is refused
// (verify.Admit). All shards come in one snapshot, or none.
func (t *Table) Register(ctx context.Context, urls []string, o RegisterOptions) (*RegisterResult, error) {
	if o.Copy {
		return t.registerCopies(ctx, urls, o)
	}
	shards, folders, err := t.adoptAll(ctx, urls, o)
	if err != nil {
		return nil, err
	}
	out := &RegisterResult{}
	for _, d := range shards {
		out.add(d)
	}
	j, before, err := t.BeginJob(ctx, jobRegister, o.JobID, nil, func(string) []string { return out.Shards })
	if before != nil || err != nil {
		return &RegisterResult{CommitResult: before}, err
	}
	out.CommitResult, err = j.register(ctx, shards, folders)
	if err != nil {
		j.Fail(ctx, nil)
		return nil, err
	}
	return out, nil
}

// adoptAll describes existing shards, some at a time, and names the folders to adopt.
func (t *Table) adoptAll(ctx context.Context, urls []string, o RegisterOptions) (shards []*described, folders []string, err error) {
	if folders, err = t.allowedFolders(o.Allow); err != nil {
		return nil, nil, err
	}
	shards, found := make([]*described, len(urls)), make([]string, len(urls))
	err = t.cat.client.Each(ctx, len(urls), func(ctx context.Context, branch *blobio.Client, i int) (err error) {
		shards[i], found[i], err = t.adopt(ctx, branch, urls[i], o)
		if err == nil && o.Progress != nil {
			o.Progress()
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	given := map[string]bool{}
	for i, d := range shards {
		if given[d.entry.Path] {
			return nil, nil, fmt.Errorf("%w: %s is given twice", ErrInvalid, d.entry.Path)
		}
		given[d.entry.Path] = true
		if found[i] != "" {
			folders = append(folders, found[i])
		}
	}
	return shards, folders, nil
}

// allowedFolders are folders to adopt besides those of the shards. Another table's are refused: it sweeps them.
func (t *Table) allowedFolders(allow []urlresolve.Prefix) (folders []string, err error) {
	for _, p := range allow {
		at := urlresolve.Location{Scheme: p.Scheme, Bucket: p.Bucket, Path: p.PathPrefix}
		folder := strings.TrimSuffix(at.String(), "/") + "/"
		switch {
		case strings.HasPrefix(folder, t.VaultFolder()):
			continue
		case strings.HasPrefix(folder, t.cat.vault+"/"), strings.HasPrefix(t.cat.vault+"/", folder):
			return nil, fmt.Errorf("%w: %s holds another table's shards, which may be deleted there", ErrUnsafe, folder)
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

// register commits adopted shards together with the folders they lie in.
func (j *Job) register(ctx context.Context, shards []*described, folders []string) (*CommitResult, error) {
	entries := entriesFor(shards)
	return j.commit(ctx, change{
		Change: manifest.Change{Operation: table.OpAppend, Add: entries, CheckDuplicates: true},
		properties: func(current map[string]string) map[string]string {
			known, err := parseAdopted(current[AdoptedProperty])
			if err != nil {
				return nil // validate has refused it
			}
			set := adoptedWith(known, folders)
			if text := namesWith(current[adoptedNamesProperty], shards); text != current[adoptedNamesProperty] {
				if set == nil {
					set = map[string]string{}
				}
				set[adoptedNamesProperty] = text
			}
			return set
		},
		validate: func(t *Table) error {
			if _, err := t.Adopted(); err != nil {
				return err
			}
			for _, d := range shards {
				if err := d.fields.check(t, d.entry.Path); err != nil {
					return err
				}
			}
			return j.checkEntries(t, entries)
		},
	})
}

// adoptedWith is the property with more folders, nil if they are all known.
func adoptedWith(known, more []string) map[string]string {
	all := slices.Concat(known, more)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == len(known) {
		return nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil // strings: can't happen
	}
	return map[string]string{AdoptedProperty: string(text)}
}

// namedFields are the fields of a shard that are found by name, with their field ids.
type namedFields struct {
	schema *schema.Schema
	ids    []int
}

// check refuses a shard whose fields would be other columns in t than those that they were described as: a name is that of one column for all
// adopted shards.
func (f *namedFields) check(t *Table, path string) error {
	if f == nil {
		return nil
	}
	now, fresh := t.schema.ByAdoptedName(f.schema), t.schema.ByNewName(f.schema)
	var err error
	f.schema.Walk(func(at string, n *schema.Node) bool {
		switch id := f.ids[n.ID]; {
		case now[n.ID] == id:
		case fresh[n.ID] != id:
			err = fmt.Errorf("%w: table %s: the columns were altered concurrently; register %s again", ErrConflict, t.name, path)
		default:
			err = fmt.Errorf("%w: %s: field %q: shards already adopted by table %s have another field of that name; register a copy (--copy)",
				ErrInvalid, path, at, t.name)
		}
		return err == nil
	})
	return err
}

// namesWith is adoptedNamesProperty with the fields that shards have and the table lacks.
func namesWith(text string, shards []*described) string {
	var names manifest.AdoptedNames
	if err := names.Decode(text); err != nil {
		return text // Load has refused it
	}
	for _, d := range shards {
		if f := d.fields; f != nil {
			if names == nil {
				names = manifest.AdoptedNames{}
			}
			names.NoteLacking(f.schema, f.ids)
		}
	}
	return names.Encode()
}

// adopt describes an existing shard, and names the folder to adopt, "" if it lies in the table's own.
func (t *Table) adopt(ctx context.Context, client *blobio.Client, url string, o RegisterOptions) (*described, string, error) {
	path, err := client.Mount(ctx, url)
	if err != nil {
		return nil, "", err
	}
	folder, err := urlresolve.Base(path)
	if err != nil {
		return nil, "", err
	}
	switch {
	case t.owns(path):
		if err := t.checkTombstones(ctx, client, path); err != nil {
			return nil, "", err
		}
		folder = ""
	case strings.HasPrefix(path, t.cat.vault+"/"):
		return nil, "", fmt.Errorf("%w: %s belongs to another table's vault folder; a copy of it can be registered", ErrUnsafe, path)
	}
	d, err := t.describe(ctx, client, path, folder, o)
	return d, folder, err
}

// described is a shard that is about to become part of the table.
type described struct {
	entry *manifest.Entry
	// ids are the field ids of its nodes, fields those that were found by name, nil if the shard has ids of its own.
	ids    []int
	fields *namedFields
	// unread are the columns that the table lacks.
	unread []string
}

func entriesFor(shards []*described) (entries []*manifest.Entry) {
	for _, d := range shards {
		entries = append(entries, d.entry)
	}
	return entries
}

// describe opens a shard, refuses it if it would poison the table, and makes its entry, partition included. folder, if not
// empty, is about to be adopted, as are those that o allows.
func (t *Table) describe(ctx context.Context, client *blobio.Client, path, folder string, o RegisterOptions) (*described, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	allow = append(allow, o.Allow...)
	if folder != "" {
		more, err := prefixes([]string{folder})
		if err != nil {
			return nil, err
		}
		allow = append(allow, more...)
	}
	shard, err := shardfmt.Open(ctx, client, path, shardfmt.OpenOptions{Allow: allow})
	if err != nil {
		return nil, err
	}
	defer shard.Close()
	ids, byName, err := t.schema.MapNewShard(ctx, shard)
	if err != nil {
		return nil, err
	}
	s, err := shard.Schema(ctx)
	if err != nil {
		return nil, err
	}
	out := &described{ids: ids, unread: t.unread(s, ids)}
	if byName {
		out.fields = &namedFields{s, ids}
	}
	e, _, err := manifest.Describe(ctx, shard, ids)
	if err != nil {
		return nil, err
	}
	admit := verify.AdmitOptions{Policy: urlresolve.Policy{Allow: allow}, Read: o.Read, MaxMemory: t.cat.opts.MaxMemory}
	if err := verify.Admit(ctx, client, shard, admit); err != nil {
		return nil, err
	}
	if folder != "" {
		e.Flags |= manifest.Adopted
	}
	if err := t.proveRequired(ctx, shard, ids, e); err != nil {
		return nil, err
	}
	spec := t.ice.Spec()
	e.SpecID = spec.ID()
	e.Partition, err = manifest.PartitionOf(e, spec, t.schema.Iceberg)
	out.entry = e
	return out, err
}

// unread are the paths of the columns of a shard, and of members of structs, that the table lacks.
func (t *Table) unread(s *schema.Schema, ids []int) (paths []string) {
	var member, below func(path string, n *schema.Node)
	member = func(path string, n *schema.Node) {
		if _, known := t.schema.Iceberg.FindFieldByID(ids[n.ID]); known {
			below(path, n)
		} else {
			paths = append(paths, path)
		}
	}
	below = func(path string, n *schema.Node) {
		visit := below
		switch n.Basic {
		case schema.Struct:
			visit = member
		case schema.List, schema.FixedSizeList, schema.Map:
		default:
			return
		}
		for i, c := range n.Children {
			visit(path+"."+schema.JoinPath(n.ChildName(i)), c)
		}
	}
	for _, n := range s.Columns() {
		member(schema.JoinPath(n.Name), n)
	}
	return paths
}

// checkTombstones refuses a shard of the table's own folder that collection has marked for deletion: making it
// live again while the second sweep runs would lose it.
func (t *Table) checkTombstones(ctx context.Context, client *blobio.Client, path string) error {
	for info, err := range client.List(ctx, t.VaultFolder()+"_gc/") {
		if err != nil {
			return err
		}
		text, _, err := client.ReadAll(ctx, info.URL, records.Limit)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), path[strings.LastIndexByte(path, '/')+1:]) {
			return fmt.Errorf("%w: %s is marked for deletion by %s; wait for the collection to end, or copy the shard", ErrUnsafe, path, info.URL)
		}
	}
	return nil
}
