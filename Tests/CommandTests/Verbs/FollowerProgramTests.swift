import Foundation
import Testing

/// Follows and promotes databases by the built program.
@Suite struct FollowerProgramTests {
    private let program: BuiltProgram

    init() throws {
        program = try BuiltProgram()
        try program.write("id,name\n1,Ada\n2,Bob\n", to: "people.csv")
        _ = try program.run(["import", "people.csv", "people.mako"])
    }

    private func mako(_ arguments: String...) throws -> BuiltProgram.Outcome { try program.run(arguments) }

    @Test func aFileFollowsAndIsPromoted() throws {
        let early = try mako("follow", "objects", "replica.mako", "--once")
        #expect(early.status == 66 && early.errors.contains("there is no folder objects"), "\(early)")
        #expect(try mako("replicate", "people.mako", "objects", "--once").status == 0)
        let followed = try mako("follow", "objects", "replica.mako", "--once")
        #expect(
            followed.status == 0 && followed.output.contains("replica.mako has commit 1 of branch 1"), "\(followed)")
        let count = try mako("query", "replica.mako", "SELECT count(*) FROM people", "-f", "csv")
        #expect(count.output == "count(*)\n2\n")
        let refused = try mako("query", "replica.mako", "INSERT INTO people VALUES (3, 'Cleo')")
        #expect(refused.status != 0 && refused.errors.contains("promote it"), "\(refused)")
        let own = try mako("follow", "objects", "people.mako", "--once")
        #expect(own.status == 65 && own.errors.contains("a database of its own"), "\(own)")
        let promoted = try mako("promote", "objects", "replica.mako")
        #expect(promoted.status == 0 && promoted.output.contains("continues branch 1 from commit 2"), "\(promoted)")
        #expect(try mako("query", "replica.mako", "INSERT INTO people VALUES (3, 'Cleo')").status == 0)
        let fenced = try mako("replicate", "people.mako", "objects", "--once")
        #expect(fenced.status == 65 && fenced.errors.contains("extended by another database"), "\(fenced)")
        #expect(try mako("promote", "objects", "replica.mako").status == 65)
    }
}
