import Foundation
import MakoStorage

/// A database built in a temporary directory beside its destination. It gets its name when it is complete: a failed or
/// interrupted build leaves nothing and touches no file that it did not create.
struct NewDatabase {
    /// The path during the build.
    let path: String
    private let directory: String
    private let place: String

    /// - Parameter file: the destination, where no database exists. A symbolic link stays; its target becomes the
    ///   database.
    init(at file: String) throws {
        try DatabaseFile.requireName(file)
        place = try FilePlace.followed(file)
        try Self.refuseLog(of: place)
        directory = try TemporaryFiles.makeDirectory(beside: place)
        path = directory + "/" + FilePath.name(of: place)
    }

    /// Gives the closed database its name.
    ///
    /// - Returns: false when another program has created the file meanwhile.
    func publish() throws -> Bool {
        try Self.refuseLog(of: place)
        return try TemporaryFiles.publish(path, as: place, from: directory)
    }

    /// Runs the build and replaces its temporary path in errors with the destination.
    func naming<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            var failure = Failure(error)
            failure.message = failure.message.replacingOccurrences(of: path, with: place)
            throw failure
        }
    }

    /// Removes the temporary directory.
    func remove() {
        TemporaryFiles.remove(directory)
    }

    /// A log without its database may hold wanted data, and must not be applied to a new one.
    private static func refuseLog(of place: String) throws {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: FilePath.directory(of: place))) ?? []
        let log = names.sorted().first { DatabaseFile.isLog($0, of: place) }
        guard let log else { return }
        throw Failure(
            "\(log) is there without the database it belongs to; put the database back, or move the log away", .damaged)
    }
}
