package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"a2a-server/internal/golden"
)

// TestDigestsAreGolden compares digests of arguments of many kinds with those that are on disk and on
// the wire. The last line is the digest over those of 20,000 random arguments.
func TestDigestsAreGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, args := range []string{
		`{}`, `{"a":null,"b":true,"c":false,"":""}`, `{"a":[],"b":{},"c":[[],{}]}`,
		`{"n":[0,-0,0.0,-0.0,0e5,-0e-5]}`, `{"n":[1,1.0,1e0,10e-1,100E-2,0.1e1]}`, `{"n":[0.1,0.2,0.30000000000000004,0.1e-6,1e-6,1e-7,123e-9]}`,
		`{"n":[1e20,1e21,1e22,123456789012345680000.0,1.2345678901234568e21,1e100,1.7976931348623157e308]}`,
		`{"n":[5e-324,4.9e-324,2.2250738585072014e-308,2.225073858507201e-308,1e-400]}`,
		`{"n":[9007199254740991,-9007199254740991,9007199254740992.0,9007199254740993e0,4503599627370497.5,9.5e15]}`,
		`{"n":[333333333.33333329,1e23,9.999999999999999e22,0.000001,0.0000001,1e-5,-1e-7,1.5,-1.5,100,-100]}`,
		`{"n":[295147905179352830000.0,2.98023223876953125e-8,1424953923781206.2,-0.0000033333333333333333]}`,
		`{"s":"\"\\\/\b\f\n\r\t","u":"\u0000\u0001\u001f\u007f\u0080\u00a0","h":"<script>&amp;</script>"}`,
		`{"s":"é","t":"e\u0301","u":"\u00e9","v":"漢字","w":"😀","x":"\ud83d\ude00","y":"\u2028\u2029","z":"\ufeff\ufffd"}`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`, // sorted by UTF-16 in RFC 8785
		`{"\ue000":1,"\ud800\udc00":2,"\uffff":3,"a":4,"A":5,"aa":6,"a\u0000":7,"_":8}`,
		`{"b":{"d":{"f":[{"h":1,"g":2},{"j":[3,4],"i":null}],"e":5},"c":6},"a":7}`,
		`{"deep":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`,
		` { "spaces" : [ 1 , 2 ] ,` + "\n\t\r" + `"more" : "  " } `,
	} {
		fmt.Fprintf(&b, "%s %s\n", digestOf(t, decode(t, args)), args)
	}
	r, sum := rand.New(rand.NewPCG(8785, 1)), sha256.New()
	for range 20_000 {
		args := map[string]any{}
		for range r.IntN(5) {
			args[randomText(r)] = randomValue(r, 3)
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write([]byte(digestOf(t, decode(t, string(raw)))))
	}
	fmt.Fprintf(&b, "%s (random)\n", hex.EncodeToString(sum.Sum(nil)))
	golden.File(t, "testdata/digests.txt", b.String())
}

func digestOf(t *testing.T, args map[string]any) string {
	t.Helper()
	got, err := Digest("bank", "transfer", "def", args)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// randomValue returns a value of JSON at most depth deep; integers are exact as doubles.
func randomValue(r *rand.Rand, depth int) any {
	kind := r.IntN(8)
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return randomText(r)
	case 3:
		return float64(r.Int64N(1<<54) - 1<<53 + 1)
	case 4:
		return math.Trunc(r.NormFloat64()*1e6) / 100
	case 5:
		for {
			if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && (f != math.Trunc(f) || math.Abs(f) >= 1e21) {
				return f
			}
		}
	case 6:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range r.IntN(4) {
			object[randomText(r)] = randomValue(r, depth-1)
		}
		return object
	}
}

// randomText returns a string of characters of one to four bytes, and of those that JSON escapes.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		switch r.IntN(5) {
		case 0:
			b.WriteByte(byte(r.IntN(0x20)))
		case 1:
			b.WriteByte(byte(0x20 + r.IntN(0x60)))
		case 2:
			b.WriteRune(rune(0x80 + r.IntN(0xD800-0x80)))
		case 3:
			b.WriteRune(rune(0xE000 + r.IntN(0x2000)))
		default:
			b.WriteRune(rune(0x10000 + r.IntN(0x100000)))
		}
	}
	return b.String()
}
