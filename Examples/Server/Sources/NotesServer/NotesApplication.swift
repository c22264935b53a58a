import Foundation
import Hummingbird
import Mako

/// A note as JSON.
struct NoteBody: ResponseCodable {
    var id: UUID?
    var title: String
    var text: String
    var reads: Int?

    init(_ note: Note) { (id, title, text, reads) = (note.id, note.title, note.text, note.reads) }
}

/// Opens the database of the server.
public func openNotes(at path: String) throws -> Database {
    try Database(at: path, entities: [Note.self])
}

/// A server of notes over an open database, which it closes when it stops.
public func notesApplication(_ db: Database, host: String = "127.0.0.1", port: Int = 8080) -> some ApplicationProtocol {
    let router = Router()
    router.addMiddleware { MakoErrors() }

    router.post("notes") { request, context in
        let body = try await request.decode(as: NoteBody.self, context: context)
        let note = Note(title: body.title, text: body.text)
        try await db.insert(note)  // a title that exists is a conflict
        return EditedResponse(status: .created, response: NoteBody(note))
    }

    router.get("notes") { request, _ in
        let notes = db.query(Note.self).orderBy(\.title).limit(100)
        guard let search = request.uri.queryParameters["search"] else {
            return try await notes.fetch().map(NoteBody.init)
        }
        return try await notes.where(.match(\.text, MatchPattern(allTokens: String(search)))).fetch().map(NoteBody.init)
    }

    router.get("notes/:id") { _, context in
        let id = try context.parameters.require("id", as: UUID.self)
        return try await db.transaction { _ in  // reads and counts in one step: no reader is lost
            guard let note = try db.find(Note.self, id) else { throw HTTPError(.notFound) }
            note.reads += 1
            try db.save(note)
            return NoteBody(note)
        }
    }

    router.delete("notes/:id") { _, context in
        let id = try context.parameters.require("id", as: UUID.self)
        let removed = try await db.query(Note.self).where(\.id == id).delete()
        return removed == 0 ? HTTPResponse.Status.notFound : .noContent
    }

    var application = Application(router: router, configuration: .init(address: .hostname(host, port: port)))
    application.addServices(DatabaseService(db: db))
    return application
}
