import CSQLite
import Foundation

@main
struct Main {
    static var readers: [any KeyValueEngine.Type] {
        [MakoEngine.self, LMDBEngine<LMDBDefault>.self, SQLiteEngine.self]
    }
    static var writers: [any KeyValueEngine.Type] {
        [MakoEngine.self, LMDBEngine<LMDBDefault>.self, LMDBEngine<LMDBWriteMap>.self, SQLiteEngine.self]
    }
    static var objectEngines: [any ObjectEngine.Type] {
        [MakoObjects.self, SQLiteObjects.self, GRDBObjects<CodablePerson>.self, GRDBObjects<HandwrittenPerson>.self]
    }

    static func main() {
        do {
            try run(Options(arguments: Array(CommandLine.arguments.dropFirst())))
        } catch {
            FileHandle.standardError.write(Data("mako-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    static func run(_ options: Options) throws {
        let names = options.wanted(
            among: KeyValueCases.names + DeleteCases.names + CommitCases.names + BlobCases.names + UpdateCases.names
                + FileCases.names
                + WorkloadCases.names + EncryptionCases.names + ObjectCases.names)
        if options.lists {
            names.forEach { print($0) }
            return
        }
        guard !names.isEmpty else { throw BenchmarkError("no case has such a name; --list prints them") }
        guard comparison_disable_memory_statistics() == SQLITE_OK else {
            throw BenchmarkError("SQLite refuses a setting")
        }
        let workspace = try Workspace(in: options.directory)
        defer { try? workspace.removeAll() }
        let keyValues = KeyValueCases(options: options, workspace: workspace, readers: readers, writers: writers)
        let deletes = DeleteCases(options: options, workspace: workspace, engines: writers)
        let commits = CommitCases(options: options, workspace: workspace, engines: writers)
        let blobs = BlobCases(options: options, workspace: workspace)
        let updates = UpdateCases(options: options, workspace: workspace)
        let files = FileCases(options: options, workspace: workspace)
        let workloads = WorkloadCases(options: options, workspace: workspace)
        let objects = ObjectCases(options: options, workspace: workspace, engines: objectEngines)
        let encryption = EncryptionCases(options: options, workspace: workspace)
        let runner = Runner(options: options)
        var report = Report()
        print(
            "\(options.records) records of \(ValueMaker.size) bytes, \(options.repetitions) repetitions; ns or more per operation\n"
        )
        for name in names {
            guard
                let benchmark = keyValues.make(name) ?? deletes.make(name) ?? commits.make(name) ?? blobs.make(name)
                    ?? updates.make(name) ?? files.make(name) ?? workloads.make(name) ?? encryption.make(name)
                    ?? objects.make(name)
            else { continue }
            report.add(try runner.run(benchmark))
        }
        report.printRatios()
        if let path = options.json { try report.writeJSON(to: path) }
        try keyValues.close()
        try commits.close()
        try blobs.close()
        try updates.close()
        try encryption.close()
        try objects.close()
    }
}
