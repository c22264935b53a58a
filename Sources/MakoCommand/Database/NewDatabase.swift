import Foundation
import MakoStorage

/// A database that is built in a directory of its own beside its place. It appears under its name when it is whole, so what fails, or is
/// interrupted, leaves nothing, and touches no file that it did not create.
struct NewDatabase {
    /// Where it is built.
    let path: String
    private let directory: String
    private let place: String

    /// - Parameter file: the place, where no database is. A symbolic link stays, and the database comes to where it leads.
    init(at file: String) throws {
        try DatabaseFile.requireName(file)
        place = try FilePlace.followed(file)
        try Self.refuseLog(of: place)
        directory = try TemporaryFiles.makeDirectory(beside: place)
        path = directory + "/" + FilePath.name(of: place)
    }

    /// Gives the database, which must be closed, its name.
    ///
    /// - Returns: false when another program has taken the name meanwhile.
    func publish() throws -> Bool {
        try Self.refuseLog(of: place)
        return try TemporaryFiles.publish(path, as: place, from: directory)
    }

    /// Runs what builds it, whose errors name the place: where it is built is nothing to the user, and gone when they read of it.
    func naming<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            var failure = Failure(error)
            failure.message = failure.message.replacingOccurrences(of: path, with: place)
            throw failure
        }
    }

    /// Removes what is left where it was built.
    func remove() {
        TemporaryFiles.remove(directory)
    }

    /// A log without its database holds data that may be wanted, and belongs to no new one.
    private static func refuseLog(of place: String) throws {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: FilePath.directory(of: place))) ?? []
        let log = names.sorted().first { DatabaseFile.isLog($0, of: place) }
        guard let log else { return }
        throw Failure(
            "\(log) is there without the database it belongs to; put the database back, or move the log away", .damaged)
    }
}
