package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// compose is the file for people, as text.
func compose(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// service is the part of the file that describes a service.
func service(t *testing.T, name string) string {
	t.Helper()
	part := regexp.MustCompile(`(?ms)^  ` + name + `:\n(.*?)(^  [a-z#]|^[a-z]|\z)`).FindStringSubmatch(compose(t))
	if part == nil {
		t.Fatalf("docker-compose.yml has no service %s", name)
	}
	return part[1]
}

// TestComposeStartsTheSameServers: each service builds what this command installs, and starts it alike.
func TestComposeStartsTheSameServers(t *testing.T) {
	for name, wants := range map[string][]string{
		"s3": {"go install " + versitygwModule, "--iam-dir /data/iam", "/data/bucket/" + bucket, "ROOT_ACCESS_KEY: " + account, "ROOT_SECRET_KEY: " + s3Secret},
		"azure": {"npm install --global " + azuritePackage, "--skipApiVersionCheck", "--disableTelemetry", "AZURITE_ACCOUNTS: " + account + ":",
			"getContainerClient('" + bucket + "').createIfNotExists()"},
		"gcs":   {"go install " + fakeGCSModule, "/data/" + bucket},
		"minio": {"go install " + minioModule, "profiles: [minio]", "/data/" + bucket, "MINIO_ROOT_PASSWORD: " + s3Secret},
	} {
		text := service(t, name)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("service %s lacks %q", name, want)
			}
		}
	}
}

func TestComposeListensOnLoopbackOnly(t *testing.T) {
	ports := regexp.MustCompile(`ports: \["([^"]*)"\]`).FindAllStringSubmatch(compose(t), -1)
	if len(ports) != 4 {
		t.Errorf("%d services have ports, want 4", len(ports))
	}
	for _, port := range ports {
		if !strings.HasPrefix(port[1], "127.0.0.1:") {
			t.Errorf("port %s is open to the network", port[1])
		}
	}
}

// TestComposePinsItsImages: nothing floats but the base images' patch releases.
func TestComposePinsItsImages(t *testing.T) {
	images := regexp.MustCompile(`(?m)FROM (\S+)`).FindAllStringSubmatch(compose(t), -1)
	for _, image := range images {
		if !slices.Contains([]string{"golang:1.26", "debian:13-slim", "node:22-slim"}, image[1]) {
			t.Errorf("base image %s", image[1])
		}
	}
	if len(images) != 7 || strings.Contains(compose(t), "latest") {
		t.Errorf("%d base images, want 7 and none of them the latest", len(images))
	}
}

// TestComposeEnvironment: deploy/compose.env names what this command prints.
func TestComposeEnvironment(t *testing.T) {
	b, err := os.ReadFile("../compose.env")
	if err != nil {
		t.Fatal(err)
	}
	addresses := map[string]string{"s3": "127.0.0.1:7070", "azure": "127.0.0.1:10000", "gcs": "127.0.0.1:4443"}
	key := regexp.MustCompile(`AccountKey=[^;]*`)
	for _, s := range servers {
		if addresses[s.name] == "" {
			continue
		}
		for _, v := range s.environment(addresses[s.name]) {
			name, value, _ := strings.Cut(v, "=")
			line := key.ReplaceAllString("export "+name+"='"+value+"'", "AccountKey=")
			if !strings.Contains(key.ReplaceAllString(string(b), "AccountKey="), line) {
				t.Errorf("compose.env lacks %s", line)
			}
		}
	}
	for _, secret := range key.FindAllString(string(b), -1) {
		if !strings.Contains(service(t, "azure"), strings.TrimPrefix(secret, "AccountKey=")) {
			t.Error("compose.env and docker-compose.yml have different keys")
		}
	}
}
