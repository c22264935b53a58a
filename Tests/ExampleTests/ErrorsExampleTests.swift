import Foundation
import Mako
import Testing

/// The examples of the article `Errors.md`.
enum ErrorsExample {
    // EXAMPLE Errors.md
    @Entity final class Booking {
        @Attribute(.unique) var code = ""
        var seats = 1

        func willInsert() -> Bool { seats > 0 }
    }

    struct NoSeats: Error {}
    // EXAMPLE ends

    // EXAMPLE Errors.md
    /// The HTTP status that a server answers with.
    static func status(of error: MakoError) -> Int {
        switch error {
        case .notFound: 404
        case .duplicate, .deniedByReference, .danglingReference: 409
        case .query, .unknownProperty, .typeMismatch, .missingValue, .unstorableValue, .invalidArgument: 400
        case .vetoed: 422
        case .readOnly, .writerTimeout, .alreadyOpen, .closed, .storage(.protected): 503
        case .storage(.diskFull): 507
        default: 500
        }
    }
    // EXAMPLE ends

    static func create(_ db: Database, _ code: String) -> (Int, String) {
        // EXAMPLE Errors.md
        do throws(MakoError) {
            try db.insert(Booking(code: code))
            return (201, code)
        } catch {
            let status = Self.status(of: error)
            return (status, status < 500 ? "\(error)" : "internal error")  // paths and pages are for the log
        }
        // EXAMPLE ends
    }

    static func transferred(_ db: Database) -> String {
        // EXAMPLE Errors.md
        do {
            try db.transaction { _ in
                try db.save(Booking(code: "A"))
                throw NoSeats()
            }
        } catch let error as MakoError {
            return "the database: \(error)"
        } catch {
            return "own error: \(error)"  // thrown by the closure; everything is rolled back
        }
        // EXAMPLE ends
        return "saved"
    }
}

@Suite struct ErrorsExampleTests {
    @Test func errorsHaveAStatus() throws {
        let db = try Database.inMemory(entities: [ErrorsExample.Booking.self])
        #expect(ErrorsExample.create(db, "X").0 == 201)
        let second = ErrorsExample.create(db, "X")
        #expect(second.0 == 409 && second.1.contains("code = 'X'"))
        #expect(ErrorsExample.transferred(db).hasPrefix("own error"))
        #expect(try db.query(ErrorsExample.Booking.self).count() == 1)
        for isInTransaction in [false, true] {
            let refused = #expect(throws: MakoError.self) {
                let booking = ErrorsExample.Booking(code: "Y", seats: 0)
                _ = try isInTransaction ? db.transaction { _ in try db.save(booking) } : db.save(booking)
            }
            #expect(refused.map(ErrorsExample.status) == 422)
        }
        do throws(MakoError) {
            _ = try db.query(ErrorsExample.Booking.self).where("cde = 'X'").fetch()
            Issue.record("a misspelt property was found")
        } catch {
            #expect(ErrorsExample.status(of: error) == 400, "\(error)")
        }
        try db.close()
        #expect(ErrorsExample.create(db, "Z").0 == 503)
    }
}
