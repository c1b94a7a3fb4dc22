// Package searchtool makes tools that search documents by their words and cite what they find:
// path, line, score and the text around the line. Its documents come from a [Source], such as
// [Folders]. The index is on disk, follows changed documents in the background, and is made anew
// if it is lost or damaged: nothing but time depends on it, so that a backup leaves it out.
//
//   - A passage is a piece of a document of about a kilobyte, and the unit that is found.
//   - A scan lists the documents, and indexes the documents that have another version.
//
// The package knows neither tasks nor approvals. The text that it finds is data of the people who wrote
// the documents, and may contain instructions to a model.
package searchtool
