import NotesServer

/// `notes FILE [PORT]` serves the notes of a database file until SIGTERM or SIGINT.
@main struct Notes {
    static func main() async throws {
        let words = CommandLine.arguments
        let db = try openNotes(at: words.count > 1 ? words[1] : "notes.mako")
        try await notesApplication(db, port: words.count > 2 ? Int(words[2]) ?? 8080 : 8080).runService()
    }
}
