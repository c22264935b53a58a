import ArgumentParser
import Foundation
import MakoPostgres
import MakoStorage

struct MirrorCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "mirror", abstract: "Keeps the tables of a database in PostgreSQL up to date.",
        discussion: """
            The first time all tables, later the rows that changed. Each time is one transaction of PostgreSQL, which also stores the commit in the
            table mako_mirror: what PostgreSQL shows is always the state of one commit. The database must keep a history ('mako history'); another
            program may write it meanwhile. Without --once the command looks for new commits after each interval, until Ctrl-C, and tries again
            when the server does not answer.

              mako mirror people.mako postgres://mirror@db.example.com/people
              mako mirror people.mako postgres:///people --schema live --once

            A password comes from ~/.pgpass or PGPASSWORD, which other users of this machine do not see.
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @Argument(help: "postgres://user@host:port/database, or libpq's 'host=… dbname=…'.")
    var url: String

    @OptionGroup var access: KeyOptions

    @Option(help: "The schema with the tables; it is created if it does not exist.")
    var schema = "public"

    @Flag(help: "Load all tables, and replace the mirror of another database or history.")
    var reload = false

    @Flag(help: "Apply what is there, and end.")
    var once = false

    @Option(help: "Seconds between two times.")
    var interval: Double = 1

    @Flag(help: "Show progress even when standard error is no terminal.")
    var progress = false

    func validate() throws {
        guard interval >= 0.1, interval <= 86_400 else { throw ValidationError("--interval is 0.1 to 86400 seconds.") }
    }

    #if Postgres
        func perform() throws {
            let stop = Stop()
            Signals.handle { signal in stop.request(signal) }
            let database = try DatabaseFile(reading: file, access)
            try database.closing {
                var mirror: Mirror?
                var delay = RetryDelay(interval: interval)
                repeat {
                    do {
                        try step(database, &mirror, stop)
                        delay.reset()
                    } catch let error as PostgresError where error.isTransient && !once {
                        delay.report("\(error)")
                    } catch PostgresError.cancelled {
                        break
                    }
                } while !once && !stop.wait(seconds: delay.seconds)
            }
            if let signal = stop.signal { Signals.end(by: signal) }
        }

        private func step(_ database: DatabaseFile, _ current: inout Mirror?, _ stop: Stop) throws {
            let isFirst = current == nil
            let mirror = try current ?? open(database)
            current = mirror
            let start = ContinuousClock.now
            var reporter = ProgressReporter("mirroring", total: nil, isForced: progress)
            let report = try mirror.step { table, report in
                let rows = report.loadedRows + report.changedRows + report.deletedRows
                reporter.update(rows, note: "\(DisplayText.onOneLine(table)), \(DisplayText.count(rows, "row"))")
                return stop.signal == nil
            }
            reporter.finish()
            guard report.hasChanged || isFirst else { return }
            Terminal.write(
                "PostgreSQL has commit \(DisplayText.grouped(Int(report.commit))) of \(file): \(Self.text(report)), "
                    + "\(DisplayText.duration(ContinuousClock.now - start))\n")
        }

        private func open(_ database: DatabaseFile) throws -> Mirror {
            var options = Mirror.Options()
            options.schema = schema
            options.reloads = reload
            return Mirror(database.store, to: try PostgresConnection(url), options: options)
        }

        private static func text(_ report: Mirror.Report) -> String {
            let loaded = DisplayText.count(report.loadedRows, "row")
            switch report.load {
            case .first: return "all tables were loaded, \(loaded)"
            case .missed: return "the history does not follow what it had, so all tables were loaded, \(loaded)"
            case .requested: return "all tables were loaded again, \(loaded)"
            case nil: break
            }
            if !report.hasChanged { return "nothing is new" }
            let parts = [
                report.changedRows > 0 ? "\(DisplayText.count(report.changedRows, "row")) changed" : nil,
                report.deletedRows > 0 ? "\(DisplayText.count(report.deletedRows, "row")) deleted" : nil,
                report.loadedRows > 0 ? "\(loaded) loaded" : nil,
                report.changedTables > 0 ? "\(DisplayText.count(report.changedTables, "table")) changed" : nil,
            ].compactMap(\.self)
            return parts.isEmpty ? "no row has changed" : parts.joined(separator: ", ")
        }
    #else
        func perform() throws {
            throw Failure(
                "this program was built without PostgreSQL: build it with 'swift build --traits Postgres', which needs libpq",
                .usage)
        }
    #endif
}
