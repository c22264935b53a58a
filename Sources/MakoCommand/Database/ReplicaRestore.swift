import Foundation
import MakoReplication
import MakoStorage

/// Restores a database from an object store, for `mako restore`.
struct ReplicaRestore {
    let location: ReplicaLocation
    let path: String
    let database: String?
    let branch: UInt64?
    let moment: ReplicaMoment?

    func run(_ access: KeyOptions, isForced: Bool) throws {
        let (objects, finish) = MeteredObjectStore.showing(
            "restoring", try location.open(for: .writing), isForced: isForced)
        defer { finish() }
        let replica = try Replica(objects)
        let commit = try commit(replica)
        let report = try access.with { options in
            try replica.restore(to: path, database: database, branch: branch, at: commit, options: options)
        }
        finish()
        for finding in report.findings { Terminal.writeError("mako: damage: \(finding)\n") }
        Terminal.write(
            "\(path) holds commit \(DisplayText.grouped(Int(report.commit))), "
                + "\(DisplayText.bytes(Int(report.bytes))); it ships to branch \(report.branch)\n")
    }

    private func commit(_ replica: Replica) throws -> UInt64? {
        switch moment {
        case nil: return nil
        case .commit(let commit): return commit
        case .date(let date):
            if let commit = try replica.newestCommit(shippedBy: date, of: database, branch: branch) { return commit }
            throw Failure(
                "nothing was shipped to \(location.url) by \(ReplicaMoment.text(date)); 'mako replicas' lists the dates",
                .noInput)
        }
    }
}
