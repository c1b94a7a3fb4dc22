package boltstore_test

var damagesOfSmall = map[string]func(page []byte){
	"kind":  func(page []byte) { page[8] ^= 0x03 },
	"count": func(page []byte) { page[11] |= 0x10 },
	"place": func(page []byte) { page[16+7] |= 0x10 },
	"key":   func(page []byte) { page[16+11] |= 0x10 },
	"value": func(page []byte) { page[16+15] |= 0x10 },
	"order": func(page []byte) { page[16+order.Uint32(page[20:])] = 0xff },
}
