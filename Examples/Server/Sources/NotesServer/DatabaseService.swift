import Mako
import ServiceLifecycle

/// Closes the database when the server has stopped, so that the file has all commits and no log remains.
struct DatabaseService: Service {
    let db: Database

    func run() async throws {
        try? await gracefulShutdown()
        try await db.close()
    }
}
