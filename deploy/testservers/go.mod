module github.com/shardcat/shardcat/deploy/testservers

go 1.26.0
