// The tools that checks of this module use, apart from go.mod, so that nobody who
// imports the library gets them in the module graph. Only the tools themselves are
// resolved here; the packages that they look at are resolved through go.mod.
//
//	go tool -modfile=tools.mod staticcheck ./...
//	go get -tool -modfile=tools.mod honnef.co/go/tools/cmd/staticcheck@latest
module github.com/spoke-peer/spoke-go

go 1.26.0

tool honnef.co/go/tools/cmd/staticcheck

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	honnef.co/go/tools v0.8.2 // indirect
)
