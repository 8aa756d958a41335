package blobio

import (
	"cmp"
	"container/list"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
)

// The tier on disk: one file per read, named by the hash of the object's URL and that of URL and range.
//
//	0    8   "SCcache1"
//	8    8   XXH3-64 of everything behind it, little-endian
//	16   4   h, length of the head, little-endian
//	20   h   head: JSON of diskHead
//	20+h     data
//
// A file is renamed into its place when it is complete, but not synced: after a power cut it may hold
// anything. So the checksum decides, and the head must name what was requested; anything else is a miss, and
// the file goes.
const diskMagic = "SCcache1"

// diskHead is what a file states about itself.
type diskHead struct {
	URL     string    `json:"url"`
	Off     int64     `json:"off"`
	N       int64     `json:"n"`
	Key     string    `json:"key"`
	Size    int64     `json:"size"`
	ETag    string    `json:"etag"`
	ModTime time.Time `json:"mod_time"`
}

// diskCache bounds a folder of such files, least recently used first out. Other processes may use the same
// folder: a file that is gone is a miss.
type diskCache struct {
	dir  string
	most int64

	mu    sync.Mutex
	bytes int64
	files map[string]*list.Element
	order list.List // of diskFile, last used first
}

type diskFile struct {
	name string
	size int64
}

// openDiskCache makes the folder if it is missing, and takes stock of it.
func openDiskCache(dir string, most int64) (*diskCache, error) {
	if most == 0 {
		most = DefaultDiskCache
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c := &diskCache{dir: dir, most: most, files: map[string]*list.Element{}}
	if err := c.takeStock(); err != nil {
		return nil, err
	}
	c.shrink()
	return c, nil
}

func (c *diskCache) takeStock() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var found []fs.FileInfo
	for _, e := range entries {
		st, err := e.Info()
		switch {
		case err != nil || !st.Mode().IsRegular():
		case strings.HasSuffix(e.Name(), diskSuffix):
			found = append(found, st)
		case strings.HasSuffix(e.Name(), diskTemp) && time.Since(st.ModTime()) > time.Hour:
			os.Remove(filepath.Join(c.dir, e.Name())) // of a process that died
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, st := range found {
		c.files[st.Name()] = c.order.PushFront(diskFile{st.Name(), st.Size()})
		c.bytes += st.Size()
	}
	return nil
}

// The ends of file names in the folder.
const (
	diskSuffix = ".range"
	diskTemp   = ".part"
)

func diskName(key cacheKey) string {
	id := binary.LittleEndian.AppendUint64([]byte(key.url), uint64(key.off))
	id = binary.LittleEndian.AppendUint64(id, uint64(key.n))
	sum := xxh3.Hash128(id).Bytes()
	return diskPrefix(key.url) + hex.EncodeToString(sum[:]) + diskSuffix
}

// diskPrefix is the prefix of the names of all files of an object.
func diskPrefix(url string) string { return fmt.Sprintf("%016x-", xxh3.HashString(url)) }

func (c *diskCache) get(key cacheKey) (cached, bool) {
	name := diskName(key)
	path := filepath.Join(c.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		c.forget(name)
		return cached{}, false
	}
	value, err := parseDiskFile(b, key)
	if err != nil {
		os.Remove(path)
		c.forget(name)
		return cached{}, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // the order of the next process
	c.use(diskFile{name, int64(len(b))})
	c.shrink()
	return value, true
}

var errDamaged = errors.New("damaged cache file")

func parseDiskFile(b []byte, key cacheKey) (cached, error) {
	const fixed = len(diskMagic) + 8 + 4
	if len(b) < fixed || string(b[:8]) != diskMagic || binary.LittleEndian.Uint64(b[8:]) != xxh3.Hash(b[16:]) {
		return cached{}, errDamaged
	}
	n := int64(binary.LittleEndian.Uint32(b[16:]))
	if n > int64(len(b)-fixed) {
		return cached{}, errDamaged
	}
	var head diskHead
	if err := json.Unmarshal(b[fixed:fixed+int(n)], &head); err != nil {
		return cached{}, err
	}
	data := b[fixed+int(n):]
	switch size := int64(len(data)); {
	case (cacheKey{head.URL, head.Off, head.N}) != key, size > key.n, key.off >= 0 && size != key.n, key.off == wholeOf && size != head.Size:
		return cached{}, errDamaged
	}
	return cached{info: Info{Key: head.Key, Size: head.Size, ETag: head.ETag, ModTime: head.ModTime}, data: data}, nil
}

func appendDiskFile(b []byte, key cacheKey, v cached) []byte {
	head, err := json.Marshal(diskHead{key.url, key.off, key.n, v.info.Key, v.info.Size, v.info.ETag, v.info.ModTime})
	if err != nil {
		return nil // a time beyond year 9999: not kept
	}
	b = append(b, diskMagic...)
	b = append(b, make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	b = append(append(b, head...), v.data...)
	binary.LittleEndian.PutUint64(b[8:], xxh3.Hash(b[16:]))
	return b
}

// put keeps a value if it can; a full disk is no error.
func (c *diskCache) put(key cacheKey, v cached) {
	b := appendDiskFile(nil, key, v)
	if b == nil || int64(len(b)) > c.most/2 {
		return
	}
	temp, err := os.CreateTemp(c.dir, "*"+diskTemp)
	if err != nil {
		return
	}
	_, err = temp.Write(b)
	name := diskName(key)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), filepath.Join(c.dir, name))
	}
	if err != nil {
		os.Remove(temp.Name())
		return
	}
	c.use(diskFile{name, int64(len(b))})
	c.shrink()
}

func (c *diskCache) use(f diskFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.files[f.name]; ok {
		c.bytes -= c.order.Remove(e).(diskFile).size
	}
	c.files[f.name] = c.order.PushFront(f)
	c.bytes += f.size
}

func (c *diskCache) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.files[name]; ok {
		c.bytes -= c.order.Remove(e).(diskFile).size
		delete(c.files, name)
	}
}

// drop removes all files of an object, including those that other processes wrote.
func (c *diskCache) drop(url string) {
	entries, _ := os.ReadDir(c.dir) // a folder that is gone has no files
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, diskPrefix(url)) {
			os.Remove(filepath.Join(c.dir, name))
			c.forget(name)
		}
	}
}

// shrink removes the files that were not used for longest, until the folder is within its bound.
func (c *diskCache) shrink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes > c.most && c.order.Len() > 0 {
		f := c.order.Remove(c.order.Back()).(diskFile)
		delete(c.files, f.name)
		c.bytes -= f.size
		os.Remove(filepath.Join(c.dir, f.name))
	}
}
