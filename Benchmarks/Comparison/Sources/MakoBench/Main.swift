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
        let groups = [
            KeyValueCases.names, DeleteCases.names, CommitCases.names, BlobCases.names, UpdateCases.names,
            FileCases.names, WorkloadCases.names, EncryptionCases.names, ObjectCases.names, StaffCases.names,
            TextCases.names, QueryCases.names, FamilyCases.names, PublishedCases.names,
            ReplicationCases.names,
        ]
        let names = options.wanted(among: groups.flatMap { $0 })
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
        let texts = TextCases(options: options, workspace: workspace)
        let staff = StaffCases(options: options, workspace: workspace)
        let queries = QueryCases(options: options, workspace: workspace)
        let families = FamilyCases(options: options, workspace: workspace)
        let encryption = EncryptionCases(options: options, workspace: workspace)
        let published = PublishedCases(options: options, workspace: workspace)
        let replication = try ReplicationCases(options: options, workspace: workspace)
        let runner = Runner(options: options)
        var report = Report()
        print(
            "\(options.records) records of \(ValueMaker.size) bytes, \(options.repetitions) repetitions; ns or more per operation\n"
        )
        let makers: [(String) -> BenchmarkCase?] = [
            keyValues.make, deletes.make, commits.make, blobs.make, updates.make, files.make, workloads.make,
            encryption.make, objects.make, texts.make, queries.make, staff.make, families.make,
            published.make, replication.make,
        ]
        for name in names {
            guard let benchmark = makers.lazy.compactMap({ $0(name) }).first else { continue }
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
        try texts.close()
        try staff.close()
        try queries.close()
        try published.close()
        try families.close()
    }
}
