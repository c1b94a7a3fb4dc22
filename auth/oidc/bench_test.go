package oidc_test

import (
	"strconv"
	"testing"
)

// What a token costs when it comes first, by its algorithm, and when it comes again.
func BenchmarkAuthenticate(b *testing.B) {
	for _, key := range []pair{rsaPair("rs"), ecPair("es"), edPair("ed")} {
		p := newProvider(b, key)
		a := newAuthenticator(b, p.config(&clock{}, mapped))
		b.Run("cold/"+key.algorithm, func(b *testing.B) {
			tokens := make([]string, b.N)
			for n := range tokens {
				tokens[n] = key.sign(header(key), p.claims(members{"jti": strconv.Itoa(b.N) + "-" + strconv.Itoa(n)}))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				if _, err := authenticate(b, a, tokens[n]); err != nil {
					b.Fatal(err)
				}
			}
		})
		token := "Bearer " + key.sign(header(key), p.claims())
		credentials := bearing(token)
		b.Run("warm/"+key.algorithm, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Authenticate(b.Context(), credentials); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
