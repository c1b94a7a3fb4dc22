//go:build race

package api_test

const racing = true
