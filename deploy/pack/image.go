package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonRoot is the user and the group of the image, as in other images without a shell.
const nonRoot = 65532

// descriptor points to a blob, as in the image specification of OCI.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *ociPlatform      `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type ociPlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

const ociTypes = "application/vnd.oci.image."

// blobs are the content-addressed files of a layout.
type blobs map[string][]byte

func (b blobs) add(mediaType string, content []byte) descriptor {
	sum := sha256Hex(content)
	b["blobs/sha256/"+sum] = content
	return descriptor{MediaType: ociTypes + mediaType, Digest: "sha256:" + sum, Size: len(content)}
}

func (b blobs) addJSON(mediaType string, v any) (descriptor, error) {
	content, err := json.Marshal(v)
	return b.add(mediaType, content), err
}

// image returns an image of all Linux platforms as a layout of OCI in a tar. It is a docker archive of the
// first of them as well, for versions of docker that load nothing else.
func (r release) image(platforms []platform) (string, []byte, error) {
	blobs := blobs{}
	var manifests []descriptor
	var docker []map[string]any
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		manifest, config, layer, err := r.imageOf(p, blobs)
		if err != nil {
			return "", nil, err
		}
		if len(manifests) == 0 {
			path := func(d descriptor) string { return "blobs/sha256/" + d.Digest[len("sha256:"):] }
			docker = append(docker, map[string]any{"Config": path(config), "RepoTags": []string{"shardcat:" + r.version}, "Layers": []string{path(layer)}})
		}
		manifests = append(manifests, manifest)
	}
	if len(manifests) == 0 {
		return "", nil, nil
	}
	top, err := blobs.addJSON("index.v1+json", map[string]any{"schemaVersion": 2, "mediaType": ociTypes + "index.v1+json", "manifests": manifests})
	if err != nil {
		return "", nil, err
	}
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	files := []file{{name: "oci-layout", content: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644}}
	for name, v := range map[string]any{"index.json": map[string]any{"schemaVersion": 2, "mediaType": ociTypes + "index.v1+json", "manifests": []descriptor{top}}, "manifest.json": docker} {
		content, err := json.Marshal(v)
		if err != nil {
			return "", nil, err
		}
		files = append(files, file{name: name, content: content, mode: 0o644})
	}
	for name, content := range blobs {
		files = append(files, file{name: name, content: content, mode: 0o644})
	}
	b, err := tarOf(withFolders(files))
	return "shardcat-" + r.version + "-image.tar", b, err
}

// imageOf adds the image of a platform: the static program, a user who is not root, a /tmp that
// everybody may write to, a folder for data, and the certificates of public authorities.
func (r release) imageOf(p platform, blobs blobs) (manifest, config, layer descriptor, err error) {
	program, err := r.binary(p, "shardcat")
	if err != nil {
		return manifest, config, layer, err
	}
	licence, err := r.read("LICENSE")
	if err != nil {
		return manifest, config, layer, err
	}
	text := func(name, content string) file { return file{name: name, content: []byte(content), mode: 0o644} }
	files := withFolders([]file{
		{name: "tmp/", mode: 0o1777},
		{name: "var/lib/shardcat/", mode: 0o755, uid: nonRoot, gid: nonRoot},
		{name: "usr/bin/shardcat", content: program.content, mode: 0o755},
		text("usr/share/doc/shardcat/copyright", string(licence.content)),
		text("etc/passwd", fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nshardcat:x:%d:%d:shardcat:/var/lib/shardcat:/sbin/nologin\n", nonRoot, nonRoot)),
		text("etc/group", fmt.Sprintf("root:x:0:\nshardcat:x:%d:\n", nonRoot)),
		text("etc/ssl/certs/ca-certificates.crt", string(certificates())),
	})
	raw, err := tarOf(files)
	if err != nil {
		return manifest, config, layer, err
	}
	compressed, err := gzipped(raw)
	if err != nil {
		return manifest, config, layer, err
	}
	layer = blobs.add("layer.v1.tar+gzip", compressed)
	labels := map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.title": "shardcat",
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/shardcat/shardcat"}
	config, err = blobs.addJSON("config.v1+json", map[string]any{
		"created": epoch, "architecture": p.arch, "os": p.os,
		"config": map[string]any{
			"User":       fmt.Sprintf("%d:%d", nonRoot, nonRoot),
			"Env":        []string{"PATH=/usr/bin", "HOME=/var/lib/shardcat"},
			"Entrypoint": []string{"/usr/bin/shardcat"},
			"Cmd":        []string{"--help"},
			"WorkingDir": "/var/lib/shardcat",
			"Labels":     labels,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sha256Hex(raw)}},
		"history": []map[string]any{{"created": epoch, "created_by": "deploy/release " + r.version}},
	})
	if err != nil {
		return manifest, config, layer, err
	}
	manifest, err = blobs.addJSON("manifest.v1+json", map[string]any{"schemaVersion": 2, "mediaType": ociTypes + "manifest.v1+json",
		"config": config, "layers": []descriptor{layer}, "annotations": labels})
	manifest.Platform = &ociPlatform{Architecture: p.arch, OS: p.os}
	return manifest, config, layer, err
}

// certificates returns Mozilla's roots for servers, as PEM. Those that are trusted only under a constraint
// are left out, for a file of PEM cannot state it.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}
