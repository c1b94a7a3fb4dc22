package suggest

import "testing"

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	candidates := []string{"listen", "log.level", "public_url", "y", "transfer_money", "A2A_SERVER_DATA"}
	for name, want := range map[string]string{
		"lisetn":          "listen",
		"log.levle":       "log.level",
		"level":           "log.level",
		"publicUrl":       "public_url",
		"transfer-monney": "transfer_money",
		"A2A_SERVER_DTA":  "A2A_SERVER_DATA",
		"nothing":         "",
		"":                "",
		"A2A_SERVER_ABCD": "",
		"x":               "",
	} {
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := DidYouMean(name, "A2A_SERVER_", candidates); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", name, got, want)
		}
	}
}
